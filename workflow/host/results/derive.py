"""What one record says about one repeat: a flat row of its axes, its status, and the numbers derived from its steps."""

import json

import numpy as np
import pandas as pd

from host.planning import axes
from host.results import statistics
from host.results.words import UNVERIFIED

SECONDS = 1e-9  # in a nanosecond
FEW_STEPS = 20
STEPS_FOR_P95 = 100
# A step shorter than this many clock reads, or than this many synchronisations, is not resolved one by one.
CLOCK_READS, SYNCHRONISATIONS = 1000, 20
SWITCHES_PER_SECOND = 100  # involuntary, a thread
SPARE_CORES = 0.3  # how far the cores that were busy may exceed the threads granted

CELL_AXES = [axis.name for axis in axes.AXES] + ["protocol"]
REPEAT_AXES = CELL_AXES + ["repeat", "attempt"]
# Columns of numbers, NaN where there is none; their units are in their names.
NUMBERS = (
    "step_seconds",
    "step_seconds_mean",
    "step_seconds_p95",
    "block_step_seconds",
    "pipelining",
    "samples_per_second",
    "first_step_seconds",
    "steady_start",
    "steps_used",
    "steps_recorded",
    "warmup_tolerance",
    "cores_busy",
    "memory_bytes_rss_peak",
    "block_repeat",
    "block_position",
)
TEXTS = [
    "status",
    "reason",
    "phase",
    "equivalence",
    "equivalence_reason",
    "warmup_class",
    "flags",
    "estimator",
    "versions",
    "machine",
    "knobs",
    "protocol_values",
    "started_utc",
    "ended_utc",
    "fingerprint",
    "block_call",
    "node",
]


def empty_row(entry):
    """Return the row of an expected cell before its record is looked at: axes, path, and every column without a value.

    entry    {path, cell, note}: the record's path below the records folder, its axes (may be empty when the file
             cannot be read and nobody expected it), and why it may be absent
    """
    row = {"path": entry["path"]} | {name: entry["cell"].get(name) for name in REPEAT_AXES}
    row.update(dict.fromkeys(NUMBERS, np.nan))
    row.update(dict.fromkeys(TEXTS, ""))
    return row | {"stale": False, "exploratory": False, "superseded": False, "equivalence": UNVERIFIED}


def cell_key(row):
    """Return what identifies a row's cell: all axes but repeat and attempt; of an unreadable file, its path."""
    return tuple(row[name] for name in CELL_AXES) if row["mode"] else (row["path"],)


def repeat_key(row):
    """Return what identifies a row's repeat: its cell and its number."""
    return cell_key(row) + (row["repeat"],)


def as_frame(rows):
    """Return rows as a DataFrame whose column types do not depend on which cells happened to succeed."""
    kinds = {axis.name: {str: "str", int: "Int64", float: "float64"}[axis.type] for axis in axes.AXES}
    kinds |= {"protocol": "str", "repeat": "Int64", "attempt": "Int64", "path": "str"}
    kinds |= dict.fromkeys(NUMBERS, "float64") | dict.fromkeys(TEXTS, "str")
    kinds |= dict.fromkeys(("stale", "superseded", "exploratory"), "bool")
    frame = pd.DataFrame(rows)
    return frame.assign(**{name: column_of(frame[name], kind) for name, kind in kinds.items() if name in frame})


def column_of(values, kind):
    """Return one column in its type; an unknown text is empty, an unknown number null."""
    return values.fillna("").astype("str") if kind == "str" else values.astype(kind)


def fill_from_record(row, record):
    """Add to the row what the record says and what follows from it alone (no gate, no other repeat)."""
    row.update({name: record["cell"].get(name) for name in REPEAT_AXES})
    row["status"] = record["status"]
    row["reason"] = " ".join((record.get("reason") or "").split())  # one line: it stands in tables and lists
    row["phase"] = (record.get("status_detail") or {}).get("phase") or ""
    row["started_utc"] = record.get("started_utc") or ""
    row["ended_utc"] = record.get("ended_utc") or ""
    for column, key in (("versions", "versions"), ("machine", "machine"), ("knobs", "knobs")):
        row[column] = as_text(record.get(key))
    row["protocol_values"] = as_text(record.get("protocol"))
    row["fingerprint"] = as_text(record.get("fingerprint"))
    row["exploratory"] = bool((record.get("protocol") or {}).get("exploratory", False))
    block = record.get("block") or {}
    row["block_repeat"] = number(block.get("repeat"))
    row["block_position"] = number(block.get("position"))
    row["block_call"] = str(block.get("invocation") or "")
    row["node"] = node(record.get("machine") or {})
    row["memory_bytes_rss_peak"] = number((record.get("memory_bytes") or {}).get("rss_peak"))
    flags = set(record.get("flags") or [])
    if record["cell"]["mode"] != "gate" and record["status"] == "ok":
        row.update(times(record))
        flags |= found_flags(record, row)
    row["flags"] = "; ".join(sorted(flags))


def times(record):
    """Return the columns that follow from the step times of one ok record.

    The median of the steps from the steady start on is the repeat's step time. Where no steady state is found it is
    the median from the protocol's warm-up on, and the flag says so; the detector may move the start later only.
    """
    steps = np.asarray(record["step_ns"], dtype=float) * SECONDS
    steady = statistics.steady_state(record["step_ns"])
    floor = min(max(1, record.get("warmup_steps") or 1), len(steps) - 1)
    settled = steady.kind != "no_steady_state"
    start = max(floor, steady.start) if settled else floor
    start = start if start < len(steps) else floor
    used = steps[start:]
    step_seconds = float(np.median(used))
    block_step_seconds = block_time(record)
    resolvable = is_resolvable(step_seconds, record.get("timer") or {})
    return {
        "step_seconds": step_seconds,
        "step_seconds_mean": float(np.mean(used)),
        "step_seconds_p95": float(np.percentile(used, 95)) if len(used) >= STEPS_FOR_P95 and resolvable else np.nan,
        "block_step_seconds": block_step_seconds,
        "pipelining": step_seconds / block_step_seconds,
        "samples_per_second": record["cell"]["batch"] / step_seconds,
        "first_step_seconds": float(steps[0]),
        "steady_start": start,
        "steps_used": len(used),
        "steps_recorded": len(steps),
        "warmup_tolerance": steady.tolerance,
        "warmup_class": steady.kind,
        "cores_busy": cores_busy(record),
    }


def block_time(record):
    """Return the time of a step in the block pass: of the last block, the one that reached the protocol's length."""
    blocks = [block for block in record.get("block_ns") or [] if block[0]]
    return blocks[-1][1] * SECONDS / blocks[-1][0] if blocks else np.nan


def found_flags(record, row):
    """Return the names of what makes an ok repeat doubtful, by its step times and by telemetry (words.FLAGS)."""
    cpu, threads = record.get("cpu") or {}, row["threads"]
    switches = number(cpu.get("involuntary_switches")) / (number(cpu.get("wall_seconds")) or np.nan)
    unsettled = row["warmup_class"] == "no_steady_state"
    tests = {
        "few_steps": row["steps_used"] < FEW_STEPS,
        "no_steady_state": unsettled,
        "warmup_undetermined": not unsettled and not row["warmup_tolerance"] <= statistics.WIDE_TOLERANCE,
        "not_resolvable": not is_resolvable(row["step_seconds"], record.get("timer") or {}),
        "threads_exceeded": row["cores_busy"] > threads + SPARE_CORES,
        "preempted": switches / threads > SWITCHES_PER_SECOND,
    }
    return {name for name, holds in tests.items() if holds}


def is_resolvable(step_seconds, timer):
    """Return whether a step is long enough to be timed alone: 1,000 reads of the clock and 20 synchronisations."""
    least = max(
        CLOCK_READS * (number(timer.get("overhead_ns"), 0.0)),
        SYNCHRONISATIONS * (number(timer.get("sync_overhead_ns"), 0.0)),
    )
    return step_seconds >= least * SECONDS


def cores_busy(record):
    """Return how many cores the worker kept busy between start and stop, by its own counters; NaN if unknown."""
    cpu = record.get("cpu") or {}
    used = number(cpu.get("user_seconds")) + number(cpu.get("system_seconds"))
    return used / (number(cpu.get("wall_seconds")) or np.nan)


def node(machine):
    """Return what tells the machine from others of the same hardware key: the batch system's node, the GPUs' UUIDs."""
    gpus = machine["gpus"] if isinstance(machine.get("gpus"), list) else []
    boards = sorted(str(gpu["uuid"]) for gpu in gpus if isinstance(gpu, dict) and gpu.get("uuid"))
    return " ".join([str(machine.get("slurm_node") or ""), *boards]).strip()


def number(value, otherwise=np.nan):
    """Return the value as a float; what a record does not know (null) is NaN, or `otherwise`."""
    return otherwise if value is None else float(value)


def as_text(value):
    """Return a record's nested value as compact JSON text with sorted keys, so that it fits into one column."""
    return "" if value is None else json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
