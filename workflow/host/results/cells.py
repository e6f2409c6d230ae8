"""From repeats to cells: the median over repeats with its interval, and everything that went wrong."""

import json
from collections import Counter

import numpy as np
import pandas as pd

from host.results import statistics
from host.results.derive import CELL_AXES, as_frame, cell_key
from host.results.words import EQUIVALENT, INCOMPLETE, NOT_EQUIVALENT, UNVERIFIED, readable

PIPELINING = 1.05  # above it, synchronising after every step hides overlap that a user would have
WIDE_SPREAD = 0.03  # coefficient of variation between repeats above which no claim of 2 % can be made
MEDIANS = [
    "step_seconds",
    "step_seconds_mean",
    "step_seconds_p95",
    "block_step_seconds",
    "first_step_seconds",
    "cores_busy",
]


def cell_table(records):
    """Return a row a cell, in the order in which the cells first occur.

    records  DataFrame of host.results.derive rows; superseded attempts are counted but not used
    """
    groups = {}
    for row in records.astype(object).where(records.notna(), None).to_dict("records"):
        groups.setdefault(cell_key(row), []).append(row)
    return as_frame([cell_row(rows) for rows in groups.values()]).astype(COUNTS | CELL_NUMBERS)


COUNTS = dict.fromkeys(["n_expected", "n_ok", "n_missing", "n_stale", "n_superseded"], "int64")
CELL_NUMBERS = dict.fromkeys(
    [
        "step_seconds_low",
        "step_seconds_high",
        "interval_level",
        "spread",
        "samples_per_second_low",
        "samples_per_second_high",
        "throughput_step_seconds",
    ],
    "float64",
)


def cell_row(rows):
    """Return one cell's row from the rows of its repeats."""
    used = [row for row in rows if not row["superseded"]]
    ok = [row for row in used if row["status"] == "ok"]
    counts = Counter(row["status"] for row in used)
    cell = {name: rows[0][name] for name in CELL_AXES}
    cell |= {
        "path": rows[0]["path"],
        "status": overall_status(counts),
        "statuses": json.dumps(dict(sorted(counts.items()))),
        "status_text": status_text(counts),
        "reason": reasons(used),
        "n_expected": len(used),
        "n_ok": len(ok),
        "n_missing": counts["missing"],
        "n_stale": sum(row["stale"] for row in used),
        "n_superseded": len(rows) - len(used),
        "stale": any(row["stale"] for row in used),
        "exploratory": any(row["exploratory"] for row in used),
    }
    cell["equivalence"], cell["equivalence_reason"] = overall_equivalence(ok)
    measured = [row for row in ok if row["mode"] != "gate"]
    cell |= numbers(measured, cell["batch"])
    cell["flags"] = flags(measured, cell)
    for name in ("versions", "machine", "knobs", "protocol_values"):
        cell[name] = next((row[name] for row in ok + used if row[name]), "")
    dates = sorted(row["started_utc"] for row in ok if row["started_utc"])
    cell["started_utc"], cell["ended_utc"] = (dates[0], dates[-1]) if dates else ("", "")
    return cell


def overall_status(counts):
    """Return `ok` if every repeat is, `incomplete` if some are, else the most frequent status."""
    if set(counts) == {"ok"}:
        return "ok"
    return INCOMPLETE if counts["ok"] else min(counts, key=lambda status: (-counts[status], status))


def status_text(counts):
    """Return what did not end ok, counted: `2 crashed, 1 timeout`; empty when all did."""
    others = sorted((status for status in counts if status != "ok"), key=lambda status: (-counts[status], status))
    return ", ".join("{} {}".format(counts[status], readable(status)) for status in others)


def reasons(rows):
    """Return every different reason with the repeats that it stopped: `crashed (repeats 2, 3): signal SIGSEGV`."""
    found = {}
    for row in rows:
        if row["status"] != "ok":
            found.setdefault((row["status"], row["reason"]), []).append(row["repeat"])
    texts = []
    for (status, reason), repeats in found.items():
        named = [str(repeat) for repeat in repeats if repeat is not None]
        which = " (repeat{} {})".format("s" * (len(named) > 1), ", ".join(named)) if named else ""
        texts.append("{}{}: {}".format(readable(status), which, reason or "no reason given"))
    return "; ".join(texts)


def overall_equivalence(ok):
    """Return (equivalence, reason) of the repeats that ended ok; the worst of them counts."""
    for kind in (NOT_EQUIVALENT, UNVERIFIED, EQUIVALENT):
        for row in ok:
            if row["equivalence"] == kind:
                return kind, row["equivalence_reason"]
    return UNVERIFIED, "no repeat ended ok"


def numbers(rows, batch):
    """Return the medians over repeats, the interval, and the throughput with the pass that it comes from.

    Throughput is batch / time of a step, from the block pass (one synchronisation for many steps) where synchronising
    after each step costs more than 5 % or a step is too short to be timed alone; otherwise from single steps.
    """
    values = {name: [row[name] for row in rows if row[name] is not None] for name in MEDIANS}
    result = {name: statistics.log_median(values[name]) if values[name] else np.nan for name in MEDIANS}
    result["repeats_step_seconds"] = [float(value) for value in values["step_seconds"]]
    result["repeats"] = json.dumps([in_block(row) for row in rows])
    result |= interval(values["step_seconds"], "step_seconds")
    blocks, steps = values["block_step_seconds"], values["step_seconds"]
    result["spread"] = float(np.std(np.log(steps), ddof=1)) if len(steps) > 1 else np.nan
    complete = len(blocks) == len(steps) > 0
    result["pipelining"] = result["step_seconds"] / result["block_step_seconds"]
    short = any("not_resolvable" in row["flags"] for row in rows)
    by_block = complete and (short or result["pipelining"] > PIPELINING)
    times = blocks if by_block else steps
    seconds = statistics.log_median(times) if times else np.nan
    limits = interval(times, "step_seconds")
    batch = np.nan if batch is None else batch
    return result | {
        "estimator": ("block" if by_block else "step") if times else "",
        "throughput_step_seconds": seconds,
        "samples_per_second": batch / seconds,
        "samples_per_second_low": batch / limits["step_seconds_high"],
        "samples_per_second_high": batch / limits["step_seconds_low"],
    }


def in_block(row):
    """Return what pairing needs of one repeat: its block (repeat and call), its machine, and its times in seconds."""
    times = {"step": row["step_seconds"], "block": row["block_step_seconds"]}
    repeat = row["block_repeat"]
    block = {"repeat": None if repeat is None else int(repeat), "call": row["block_call"], "node": row["node"]}
    return block | {name: None if value is None else float(value) for name, value in times.items()}


def interval(values, name):
    """Return the columns <name>_low, <name>_high and interval_level; NaN below five repeats."""
    found = statistics.median_interval(values) if values else None
    low, high, level = (found.low, found.high, found.level) if found else (np.nan,) * 3
    return {name + "_low": low, name + "_high": high, "interval_level": level}


def flags(rows, cell):
    """Return what makes the cell's numbers doubtful, with the number of repeats: `preempted 3 of 5; ...`."""
    counts = Counter(flag for row in rows for flag in row["flags"].split("; ") if flag)
    texts = ["{} {} of {}".format(flag, count, len(rows)) for flag, count in sorted(counts.items())]
    if cell["n_stale"]:
        texts.append("stale {} of {}".format(cell["n_stale"], cell["n_expected"]))
    if len({row["warmup_class"] for row in rows}) > 1:
        texts.append("warmup_inconsistent")
    if not pd.isna(cell["spread"]) and cell["spread"] > WIDE_SPREAD:
        texts.append("wide_spread")
    if len({row["versions"] for row in rows}) > 1:
        texts.append("versions_differ")
    return "; ".join(texts)
