"""The bundle of a gate network: start values, batches, what the reference computes from them, and its noise.

Made once by a worker process that runs the reference under the host's own interpreter, and kept in a cache folder
named by the hash of everything that it depends on: graph, settings, and the reference's sources.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy

from host import catalogue, fingerprint, graph
from host.planning import axes
from host.runner import start

SETTINGS = {
    "seed": 2016,
    "tries": 60,  # starts looked at until one is far enough from ties
    "draws": 20,  # disturbed runs for each kind of noise
    "batch": 16,
    "learning_rate": 0.05,  # doubled until every update is well above the rounding of its parameter
    "rate_pattern": [1.0, 1.0, 1.0, 0.2, 0.2],  # the change shows which form of momentum a framework has
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "gradient_learning_rate": 1024.0,  # a power of two: dividing the update by it is exact
}
CELL = {name: axis.default for name, axis in axes.BY_NAME.items()}  # the reference's: an axis at its default
CELL.update(framework="reference", network=None, mode="gate", batch=SETTINGS["batch"], execution="eager")
LONGEST = 900  # seconds until a bundle is given up


@dataclass(frozen=True)
class Bundle:
    """A gate network's bundle, arrays in memory.

    start     {tensor: float32 array}: parameters and buffers
    expected  {name: float64 array} of the reference: loss, logits, gradient/T, update1/T, update5/T, buffer/B
    noise     {name: {"operands", "reductions"}}: relative L2
    scale     {running mean: standard deviation of the batch, per channel}
    settings  with learning_rates, as a gate job takes them
    paths     {"start": {tensor: path}, "batches": [{"inputs", "targets"}]} for the job
    facts     seed, tries, smallest_gap, fit
    """

    graph: dict
    start: dict
    expected: dict
    noise: dict
    scale: dict
    settings: dict
    paths: dict
    facts: dict


def forms(framework):
    """Return the forms that an adapter declares: where the learning rate stands, which variance is running."""
    declared = catalogue.adapter_literals(framework)
    return {"momentum_form": declared["MOMENTUM_FORM"], "running_variance": declared["RUNNING_VARIANCE"]}


def key(lowered, settings):
    """Return the hash that names a bundle: the graph, the settings and the sources that compute it."""
    worker = catalogue.WORKFLOW / "worker"
    sources = [*(worker / "reference").glob("*.py"), worker / "frameworks" / "reference.py"]
    sources += [worker / "bundle.py", worker / "gate.py", worker / "weights.py"]
    parts = {"graph": lowered, "settings": settings, "sources": fingerprint.files(sources, worker)}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def load(network, framework, cache):
    """Return the Bundle of a network for the forms that a framework's adapter declares; made if it is not cached.

    raises RuntimeError with the reference's own words if it fails
    """
    lowered = graph.lower(network, "gate", "gate")
    settings = dict(SETTINGS, forms=forms(framework))
    folder = Path(cache) / "gate" / key(lowered, settings)
    if not (folder / "bundle.json").is_file():
        make(lowered, settings, folder)
    content = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    files = {kind: {name: folder / file for name, file in named.items()} for kind, named in content["arrays"].items()}
    arrays = {
        kind: {name: numpy.load(path) for name, path in files[kind].items()} for kind in files if kind != "batches"
    }
    steps = range(len(settings["rate_pattern"]))
    batches = [{role: str(files["batches"][f"{step}/{role}"]) for role in ("inputs", "targets")} for step in steps]
    order = [tensor["name"] for tensor in lowered["parameters"] + lowered["buffers"]]
    return Bundle(
        graph=lowered,
        start={name: arrays["start"][name] for name in order},
        expected=arrays["expected"],
        noise=content["noise"],
        scale=arrays["scale"],
        settings=dict(settings, learning_rates=content["learning_rates"]),
        paths={"start": {name: str(files["start"][name]) for name in order}, "batches": batches},
        facts={name: content[name] for name in ("seed", "tries", "smallest_gap", "fit")},
    )


def make(lowered, settings, folder):
    """Compute a bundle in a folder beside its place and move it there: no reader sees half of one."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="making-", dir=folder.parent))
    try:
        (scratch / "graph.json").write_text(json.dumps(lowered), encoding="utf-8")
        job = {"task": "bundle", "cell": CELL, "graph": str(scratch / "graph.json")}
        job.update(gate=settings, output=str(scratch))
        result = run_worker(job, scratch)
        (scratch / "bundle.json").write_text(json.dumps(result), encoding="utf-8")
        try:
            os.rename(scratch, folder)
        except OSError:  # another process was first: what is there is the same
            if not (folder / "bundle.json").is_file():
                raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run_worker(job, scratch):
    """Return the `result` message of the reference's worker; raise RuntimeError if there is none."""
    path = scratch / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    channel = scratch / "messages.jsonl"
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(catalogue.WORKFLOW), "PYTHONHASHSEED": "0"}
    environment.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    with channel.open("wb") as file:
        command = [sys.executable, "-m", "worker", str(path), "--channel", str(file.fileno())]
        answer = subprocess.run(
            command,
            env=environment,
            pass_fds=[file.fileno()],
            capture_output=True,
            text=True,
            timeout=LONGEST,
            preexec_fn=start.dies_with_this_process(),  # safe: this process has one thread
            check=False,
        )
    messages = [json.loads(each) for each in channel.read_text(encoding="utf-8").splitlines()]
    result = next((each for each in messages if each["message"] == "result"), None)
    if result is None:
        words = next((each["reason"] for each in messages if each["message"] == "failure"), answer.stderr[-1500:])
        raise RuntimeError("the reference could not make the gate's bundle: {}".format(words))
    return result
