"""A small cell and a protocol of a tenth of a second, for tests that drive the real runner."""

import json
import os
import subprocess
import sys
from pathlib import Path

from host.planning import axes

ROOT = Path(__file__).resolve().parents[1]
PROTOCOL = {
    "name": "tiny",
    "warmup_steps": 3,
    "min_steps": 10,
    "min_seconds": 0.02,
    "max_seconds": 0.5,
    "max_steps": 100,
    "block_steps": 10,
    "block_seconds": 0.02,
    "distinct_batches": 2,
    "deadline_seconds": 60,
    "exploratory": True,
}


def cell(**changes):
    """Return a cell of a framework that has no environment file, so that saboteurs stand in for its adapter."""
    base = {axis.name: axis.default for axis in axes.AXES}
    base |= {"framework": "saboteur", "network": "mlp", "hardware": "test-2c", "batch": 8, "execution": "eager"}
    return base | {"protocol": "tiny", "repeat": 1, "attempt": 0} | changes


def command(saboteur, record, cache, deadline=60.0, options=(), **changes):
    """Return the command that runs a saboteur's cell with the real runner."""
    protocol = PROTOCOL | {"deadline_seconds": deadline}
    words = [sys.executable, "-m", "saboteurs", saboteur, str(cache), "--cell", json.dumps(cell(**changes))]
    return [*words, "--protocol", json.dumps(protocol), "--record", str(record), *map(str, options)]


def environment(scratch, **variables):
    """Return the runner's environment variables; the worker's scratch folder is made below `scratch`."""
    paths = os.pathsep.join([str(ROOT / "workflow"), str(ROOT / "tests")])
    return {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(scratch), **variables}


def run(saboteur, folder, cache, **options):
    """Run a saboteur's cell; return (the runner's finished process, its record)."""
    record = Path(folder) / "record.json"
    done = subprocess.run(
        command(saboteur, record, cache, **options),
        env=environment(folder),
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        check=False,
    )
    return done, json.loads(record.read_text(encoding="utf-8")) if record.exists() else None


def left_running(folder):
    """Return the command lines of processes that have a path below `folder` in their arguments or environment."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            words = (process / "cmdline").read_bytes() + b"\0" + (process / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in words:
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
