"""Run planned faults in a framework's environment, and compare each with the reference as the gate does."""

import json
import os
import subprocess
from dataclasses import dataclass, field

import numpy

from faults import kinds, plan
from faults.networks import CACHE
from faults.plan import LEAST_CHANGE
from host import catalogue
from host.gate import compare, locate

LONGEST = 1500  # seconds of one framework's process
PASSED_ON = ("PATH", "HOME", "OPENBLAS_CORETYPE", "TMPDIR")
CHECKS = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "precision", "dropout", "refused")


@dataclass
class Outcome:
    """What became of one fault in one framework.

    excess  {check: worst error / tolerance}; inf where something was no number or no error can be given
    first   where the gate says the disagreement begins, or the words of a refusal
    signal  {check: error / tolerance} of the same fault in float64; None where the reference does not have it
    """

    framework: str
    execution: str
    fault: object
    excess: dict
    first: str = ""
    signal: dict | None = field(default=None)

    @property
    def caught_by(self):
        """Return the checks that the fault exceeds, in the table's order."""
        return [check for check in CHECKS if self.excess.get(check, 0.0) > 1]


def execution_of(framework):
    """Return the execution to plant in: eager where there is one."""
    there = catalogue.adapter_literals(framework)["EXECUTIONS"]
    return "eager" if "eager" in there else there[0]


def variables(framework):
    """Return the environment variables of a framework's process: the worker's, one thread."""
    declared = catalogue.adapter_literals(framework)["ENVIRONMENT"]
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    roots = [str(catalogue.ROOT / "workflow"), str(catalogue.ROOT / "tests")]
    kept.update(
        PYTHONPATH=os.pathsep.join(roots), PYTHONNOUSERSITE="1", PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1"
    )
    kept.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    declared = {**declared, **plan.tools(framework)["VARIABLES"]}
    return {**kept, **{name: value.format(threads=1, cache=CACHE) for name, value in declared.items()}}


def run(framework, python, planned, described, folder):
    """Run faults in one process of the framework's Python; return its findings, {id: {"status", ...}}.

    described  {network: description} of `networks.describe`
    folder     for the job and what it writes; made here
    raises     RuntimeError with the process's last words if it does not come to its end
    """
    folder.mkdir(parents=True)
    job = {"framework": framework, "execution": execution_of(framework), "networks": described, "output": str(folder)}
    job["findings"] = str(folder / "findings.json")
    job["faults"] = [dict(vars(fault), id=fault.id) for fault in planned]
    (folder / "job.json").write_text(json.dumps(job, default=str), encoding="utf-8")
    answer = subprocess.run(
        [str(python), "-m", "faults.inside", str(folder / "job.json")],
        env=variables(framework),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=LONGEST,
        check=False,
    )
    if answer.returncode != 0:
        raise RuntimeError(
            "{}: the faults' process ended with {}: {}".format(framework, answer.returncode, answer.stdout[-3000:])
        )
    return json.loads((folder / "findings.json").read_text(encoding="utf-8"))


def arrays(folder, fault):
    """Return {name: array} that a fault's trajectory wrote."""
    with numpy.load(folder / (fault.id + ".npz")) as written:
        return {name: written[name] for name in written.files}


def judge(framework, fault, finding, made, folder):
    """Return the Outcome of a fault, by the gate's own comparison with the network's bundle."""
    outcome = Outcome(framework, execution_of(framework), fault, {})
    if finding["status"] == "refused":
        outcome.excess, outcome.first = {"refused": float("inf")}, finding["reason"].strip().splitlines()[-1]
    elif kinds.KINDS[fault.kind].family == "dropout":
        complaints = finding["dropout"]
        outcome.excess = {"dropout": float("inf") if complaints else 0.0}
        outcome.first = complaints[0].strip().splitlines()[-1] if complaints else ""
    else:
        found = arrays(folder, fault)
        lines = compare.compare(made.graph, finding["facts"], found, made)
        for line in lines:
            outcome.excess[line["check"]] = max(outcome.excess.get(line["check"], 0.0), locate.excess(line))
        place = locate.first({"checks": lines, "layers": compare.layers(made.graph, found, made)})
        outcome.first = place.where if place else ""
    return outcome


def changes(found, honest):
    """Return the largest relative change of any array between two trajectories of the reference, ops' values apart."""
    names = {name for name in honest if not name.startswith("value/")}
    if not names <= set(found):
        return float("inf")
    return max(change(found[name], honest[name]) for name in names)


def change(found, honest):
    """Return ||found - honest|| / ||honest||, inf where the shapes differ or something is no number."""
    if found.shape != honest.shape or not numpy.isfinite(found).all():
        return float("inf")
    difference = float(numpy.linalg.norm(found - honest))
    size = float(numpy.linalg.norm(honest))
    return difference / size if size else (float("inf") if difference else 0.0)


def felt(finding, fault, right, honest, folder):
    """Say whether a fault changes anything in float64.

    right, honest  finding and arrays of the same network without a fault
    """
    same = finding["status"] == "ran" and finding["facts"] == right["facts"]
    return not same or changes(arrays(folder, fault), honest) > LEAST_CHANGE
