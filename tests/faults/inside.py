"""Run faults in a framework's environment: one process of it, one job file. Nothing is judged here.

Usage: python -m faults.inside JOB.json
The job has the framework key, the execution, the networks as the contract suite describes them, the faults (id, kind,
place, network) and the folder to write into. Each trajectory becomes ID.npz; the findings are a JSON file
{id: {"status", "reason", "facts"}}: `ran`, or `refused` with the adapter's or the framework's own words.
"""

import importlib
import json
import os
import sys
import traceback
import warnings

import numpy

from contract import checks
from contract.subject import Subject
from faults import faulty, kinds, load
from faults.fault import DoesNotApply
from worker import gate
from worker.frameworks import load as load_adapter

LONGEST_REASON = 600


def main(path):
    """Run the job and write the findings; exits 0 whatever they are."""
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    warnings.simplefilter("ignore")
    numpy.seterr(all="ignore")  # a fault may overflow
    module = load_adapter(job["framework"])
    tools = find_tools(module, job["framework"])
    load.own(getattr(tools, "OWN", {}))
    findings = {}
    for fault in job["faults"]:
        findings[fault["id"]] = attempt(run, fault, job, module, tools)
    with open(job["findings"], "w", encoding="utf-8") as file:
        json.dump(findings, file)


def find_tools(module, framework):
    """Return the framework's own file in frameworks/, its operators entered into the adapter's; None if it has none."""
    name = framework.split("-")[0]
    if not os.path.exists(os.path.join(os.path.dirname(__file__), "frameworks", name + ".py")):
        return None
    tools = importlib.import_module("faults.frameworks." + name)
    if hasattr(tools, "operations"):
        made = tools.operations(module)
        for table in [
            each for each in vars(module).values() if isinstance(each, dict) and set(module.OPS) <= set(each)
        ]:
            if table is not module.OPS:
                table.update(made)
        module.OPS.update(made)
    return tools


def attempt(function, *arguments):
    """Return what a fault's run gives; what it raises is a refusal, unless the fault was planned wrongly."""
    try:
        return function(*arguments)
    except DoesNotApply:
        raise
    except Exception:
        return {"status": "refused", "reason": traceback.format_exc()[-LONGEST_REASON:]}


def run(fault, job, module, tools):
    """Run one fault: dropout's through the contract's checks, every other through the gate's trajectory."""

    class Planted(object):
        """The adapter's module with the fault in its Adapter."""

        EXECUTIONS, MOMENTUM_FORM = module.EXECUTIONS, module.MOMENTUM_FORM

        @staticmethod
        def Adapter(cell, **more):
            return faulty.make(module.Adapter(cell, **more), fault["kind"], fault["place"], module, tools)

    subject = Subject(Planted, job["framework"], job["execution"], job["networks"][fault["network"]])
    if kinds.KINDS[fault["kind"]].family == "dropout":
        complaints = attempt(check_dropout, subject)
        return {"status": "ran", "dropout": complaints if isinstance(complaints, list) else [complaints["reason"]]}
    found, facts = gate.trajectory(
        Planted.Adapter, subject.cell(), subject.gate_graph, subject.start, subject.batches, subject.settings
    )
    numpy.savez(os.path.join(job["output"], fault["id"] + ".npz"), **found)
    return {"status": "ran", "facts": {name: facts[name] for name in ("parameter_count", "shapes")}}


def check_dropout(subject):
    """Return the complaints of the contract's checks on dropout."""
    return (checks.dropout_has_its_rate(subject) or []) + (checks.dropout_only_in_training(subject) or [])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
