"""What the worker needs before it starts: the graph, the hash of its weights, the batches, the job file."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from host import batches, environments, graph, machine
from host.graph import weights
from host.runner import gate as gates
from host.runner.request import Refused

FIRST_SEED = 1000  # repeat r starts from seed 1000 + r: the same weights and batches for every framework


@dataclass
class Prepared:
    """Everything that is known before the worker starts."""

    prefix: str
    job: Path
    seed: int
    graph_sha256: str
    weights_sha256: str
    pins: dict  # python, pins: what the worker must find


def check(request):
    """Raise Refused for a cell that cannot run here, before anything is computed."""
    status = request.environment
    if status["status"] != "ready":
        raise Refused("unsupported", status["reason"] or "its environment could not be built, without a reason")
    if request.here is not None and request.here != request.cell["hardware"]:
        reason = "the cell is for the hardware {!r}, this machine is {!r}".format(
            request.cell["hardware"], request.here
        )
        raise Refused("wrong_hardware", reason)
    granted = machine.cores_granted()
    if request.cell["threads"] > granted:
        raise Refused(
            "wrong_hardware",
            "the cell asks for {} threads, this machine grants {} cores".format(request.cell["threads"], granted),
        )


def prefix_of(request):
    """Return the folder of the environment: the one that Snakemake activated, or the one that our own rule built."""
    if request.environment["deployment"] != "conda":
        return request.environment["prefix"]
    prefix = os.environ.get("CONDA_PREFIX")
    if not prefix:
        raise Refused("failed", "the environment is Snakemake's to activate (--sdm conda), but CONDA_PREFIX is not set")
    return prefix


def prepare(request, scratch, bundle=None):
    """Write the job into the scratch folder; return what the runner must know of it. Raises Refused.

    bundle  of a gate cell, which starts from its arrays; every other cell starts from weights of its seed
    """
    cell = request.cell
    seed = FIRST_SEED + cell["repeat"]
    job = {
        "task": request.task,
        "cell": dict(cell, accelerator=request.accelerator),  # the folder of envs/: cpu, cuda; the adapter's device
        "protocol": request.protocol,
        "graph": str(scratch / "graph.json"),
        "output": str(scratch),
    }
    if request.adapter:
        job["adapter"] = request.adapter
    if bundle is not None:
        lowered, start = bundle.graph, bundle.start
        job.update(gates.job(bundle))
    else:
        lowered = graph.lower(cell["network"], "full")
        start = weights.draw(lowered, seed)
        job.update(seed=seed, batches=cut_batches(request, lowered, seed))
    (scratch / "graph.json").write_text(json.dumps(lowered), encoding="utf-8")
    (scratch / "job.json").write_text(json.dumps(job), encoding="utf-8")
    pins = {"python": None, "pins": []}
    if request.environment_file.exists():
        pins = environments.specification(request.environment_file)
    return Prepared(
        prefix=prefix_of(request),
        job=scratch / "job.json",
        seed=seed if bundle is None else bundle.facts["seed"],
        graph_sha256=graph.sha256(lowered),
        weights_sha256=weights.sha256(start),
        pins=pins,
    )


def cut_batches(request, lowered, seed):
    """Return the cell's batches; raise Refused where the data does not fit the network."""
    cell = request.cell
    try:
        cut = batches.write(
            cell["data"],
            lowered["input"]["shape"],
            cell["batch"],
            request.protocol["distinct_batches"],
            seed,
            request.cache / "batches",
        )
        batches.check_fit(cell["data"], cut, lowered)
    except ValueError as error:
        raise Refused("failed", str(error)) from None
    return cut
