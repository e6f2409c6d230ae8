"""Run all checks for one adapter and write what they found; exits 0 whatever they found."""

import json
import os
import sys
import traceback

from contract import checks, timing
from contract.subject import Subject
from worker import gate
from worker.frameworks import Unsupported, load


def main(path):
    """Run the job: the trajectories that the gate compares, then each check on each of its subjects."""
    with open(path, encoding="utf-8") as file:
        job = json.load(file)
    module = load(job["framework"])
    findings = {"trajectory": {}}
    for run in job["runs"]:
        subject = Subject(module, job["framework"], run["execution"], job["networks"][run["network"]])
        findings["trajectory"][run["name"]] = attempt(trajectory, subject, run["output"])
    for name, check in sorted(checks.NETWORK_CHECKS.items()):
        findings[name] = {}
        for network, description in sorted(job["networks"].items()):
            subject = Subject(module, job["framework"], module.EXECUTIONS[0], description)
            findings[name][network] = attempt(check, subject)
    for name, check in sorted(dict(checks.ADAPTER_CHECKS, **timing.ADAPTER_CHECKS).items()):
        description = job["networks"][job["simplest"]]
        subject = Subject(module, job["framework"], module.EXECUTIONS[0], description)
        findings[name] = {"-": attempt(check, subject)}
    with open(job["findings"], "w", encoding="utf-8") as file:
        json.dump(findings, file)


def attempt(check, *arguments):
    """Return a check's complaints; what it raises is one, and Unsupported is told apart."""
    try:
        return check(*arguments) or []
    except Unsupported as error:
        return ["unsupported: {}".format(error)]
    except Exception:
        return [traceback.format_exc()]


def trajectory(subject, output):
    """Write what the gate compares: losses, gradients, updates and buffers, with the facts that `built` would tell."""
    os.makedirs(output)
    settings = subject.settings
    found, facts = gate.trajectory(
        subject.module.Adapter, subject.cell(), subject.gate_graph, subject.start, subject.batches, settings
    )
    files = gate.write_arrays(found, output)
    with open(os.path.join(output, "facts.json"), "w", encoding="utf-8") as file:
        json.dump({"facts": facts, "arrays": files}, file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
