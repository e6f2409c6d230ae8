"""Records of every kind, written to a folder: what tests of everything derived from records are run on.

Times are drawn from a seeded generator and mean nothing; every record fits the record schema, except where a test asks
for one that does not. `write_study` makes one study with every way in which a cell can end.
"""

import copy
import hashlib
import json
from pathlib import Path

import numpy as np

from host.planning import axes
from host.results import collect

# all but ok
STATUSES = [
    "unsupported",
    "out_of_memory",
    "timeout",
    "diverged",
    "crashed",
    "failed",
    "cancelled",
    "node_failure",
    "wrong_hardware",
]
HARDWARE = "sample-2c"
PROTOCOL = {
    "name": "short",
    "warmup_steps": 10,
    "min_steps": 50,
    "min_seconds": 1.0,
    "max_seconds": 4.0,
    "max_steps": 2000,
    "block_steps": 50,
    "block_seconds": 0.5,
    "distinct_batches": 8,
    "deadline_seconds": 120,
    "exploratory": True,
}
VERSIONS = {"torch": "2.13.0", "tensorflow": "2.21.0", "mxnet": "1.9.1"}
STARTUP = {"spawn": 0.1, "import": 1.0, "build": 0.1, "compile": None, "feed": 0.01}  # seconds


def cell(framework="torch", network="mlp", mode="train", repeat=1, **changes):
    """Return a cell with every axis."""
    base = {axis.name: axis.default for axis in axes.AXES}
    base |= {"framework": framework, "network": network, "hardware": HARDWARE, "mode": mode, "batch": 64}
    base |= {"execution": "eager", "protocol": "short", "repeat": repeat, "attempt": 0}
    if mode == "gate":
        base |= {"protocol": axes.GATE_PROTOCOL, "batch": 16}
    return base | changes


def fingerprint(of, **changes):
    """Return the fingerprint that a cell's sources have, one text a part."""
    parts = {"adapter": of["framework"], "worker": "worker", "network": of["network"], "environment": of["framework"]}
    return {name: "{:064x}".format(hash_of(name + text)) for name, text in (parts | changes).items()}


def hash_of(text):
    """Return a number that depends on the text only (Python's own hash changes from process to process)."""
    return int(hashlib.sha256(text.encode("utf-8")).hexdigest(), 16)


def record(of, status="ok", reason=None, seconds=0.01, steps=120, checks=None, **changes):
    """Return a record of one cell; one that did not end ok has no numbers, and every null has its reason."""
    random = np.random.RandomState(hash_of(axes.record_path(of)) % 2**32)
    measured = status == "ok" and of["mode"] != "gate"
    own = seconds * (1 + 0.02 * random.normal())
    times = (own * (1 + 0.01 * random.normal(size=steps)) * 1e9).astype(int).tolist()
    times[0] *= 5
    result = {
        "schema": "levelfield/record/1",
        "cell": of,
        "protocol": PROTOCOL,
        "study": "sample",
        "status": status,
        "reason": None if status == "ok" else reason or "a sample of {}".format(status),
        "status_detail": dict.fromkeys(("phase", "exit_code", "signal", "exception", "output_tail")),
        "block": {"seed": 1, "repeat": of["repeat"], "position": 1, "size": 6, "invocation": "sample"},
        "fingerprint": fingerprint(of),
        "seed": 1000 + of["repeat"],
        "weights_sha256": "0" * 64,
        "graph_sha256": "1" * 64,
        "parameter_count": 1000,
        "timer": {"clock": "perf_counter_ns", "resolution_ns": 1, "overhead_ns": 60, "sync_overhead_ns": 500},
        "step_ns": times,
        "warmup_steps": 10,
        "block_ns": [[50, int(50 * own * 1e9)]],
        "losses": [[0, 2.3], [steps - 1, 0.4]],
        "startup_seconds": dict(STARTUP, first_step=times[0] * 1e-9),
        "phases_ns": None,
        "cpu": {
            "user_seconds": 0.98 * own * steps,
            "system_seconds": 0.01 * own * steps,
            "wall_seconds": own * steps,
            "involuntary_switches": 3,
            "voluntary_switches": 1,
        },
        "gc_collections": 0,
        "memory_bytes": {"rss_peak": 300_000_000, "tree_rss_peak": 310_000_000},
        "telemetry": {"period_seconds": 0.1, "t_seconds": [0.0], "rss_bytes": [1], "cpu_seconds": [0.0]}
        | {"window_seconds": None},
        "versions": {of["framework"].split("-")[0]: VERSIONS.get(of["framework"], "1.0")},
        "knobs": {"threads": 1},
        "machine": {"cpu_model": "Sample CPU", "cores_granted": 2, "gpus": [], "why": {}},
        "gate": None,
        "flags": [],
        "why": {"phases_ns": "phases are not measured in this protocol", "gate": "not a gate cell"},
        "started_utc": "2026-01-02T03:04:05Z",
        "ended_utc": "2026-01-02T03:04:15Z",
        "command": "python -m host.measure",
    }
    if not measured:
        for name in NUMBERS:
            result[name] = None
            result["why"][name] = "a gate cell is not timed" if of["mode"] == "gate" else "the cell did not end ok"
    if of["mode"] == "gate" and status == "ok":
        result["gate"] = gate(checks)
        del result["why"]["gate"]
    if status != "ok":
        result["status_detail"] |= {"phase": "step", "exit_code": 1, "output_tail": "the last line"}
    return result | copy.deepcopy(changes)


NUMBERS = [
    "timer",
    "step_ns",
    "warmup_steps",
    "block_ns",
    "losses",
    "startup_seconds",
    "cpu",
    "gc_collections",
    "memory_bytes",
    "telemetry",
]


def gate(checks=None):
    """Return the `gate` part of an ok gate record; by default every check is far within its tolerance."""
    checks = checks or [("G1", "loss step 1", 1e-7, 1e-5), ("G2", "c1.weight", 2e-6, 1.5e-5)]
    names = ("check", "tensor", "error", "tolerance")
    return {
        "seed": 1,
        "graph_sha256": "1" * 64,
        "forms": {"momentum": "outside", "running_variance": "biased"},
        "checks": [dict(zip(names, check, strict=True), noise=1e-7) for check in checks],
        "notes": [],
    }


def write(folder, made):
    """Write one record where its cell belongs below the folder; return its expected entry."""
    path = axes.record_path(made["cell"])
    target = Path(folder, path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(made), encoding="utf-8")
    return {"path": path, "cell": made["cell"], "note": ""}


def write_study(folder):
    """Write a study with every way to end and return its expected entries, the missing and the damaged included.

    torch and tensorflow are equivalent (tensorflow lost two repeats), mxnet is not; every other status is a framework
    of its own named after it, on the network mlp; `lenet5` has torch alone, unverified.
    """
    entries = []
    for framework, seconds in (("torch", 0.010), ("tensorflow", 0.013), ("mxnet", 0.012)):
        for repeat in range(1, 6):
            of = cell(framework, repeat=repeat)
            status = {("tensorflow", 2): "crashed", ("tensorflow", 4): "timeout"}.get((framework, repeat), "ok")
            entries.append(write(folder, record(of, status, seconds=seconds)))
        checks = [("G2", "f1.weight", 3e-2, 1e-3)] if framework == "mxnet" else None
        entries.append(write(folder, record(cell(framework, mode="gate"), checks=checks)))
    for repeat in range(1, 4):
        entries.append(write(folder, record(cell("torch", "lenet5", repeat=repeat), seconds=0.025)))
    entries.append(write(folder, record(cell("torch", "mlp", mode="infer"), seconds=0.002)))
    for status in STATUSES:
        entries.append(write(folder, record(cell(status.replace("_", ""), repeat=1), status)))
    damaged = write(folder, record(cell("damaged")))
    Path(folder, damaged["path"]).write_text('{"schema": "levelfield/rec', encoding="utf-8")
    missing = cell("missing")
    return entries + [damaged, {"path": axes.record_path(missing), "cell": missing, "note": "hardware elsewhere"}]


def collected(folder):
    """Write the study below the folder and collect it; return (entries, folder of the three Parquet files)."""
    entries = write_study(folder / "records")
    (folder / "cells.json").write_text(json.dumps(entries), encoding="utf-8")
    arguments = ["--study", "sample", "--records", str(folder / "records"), "--cells", str(folder / "cells.json")]
    collect.main(arguments + ["--out", str(folder / "out")])
    return entries, folder / "out"
