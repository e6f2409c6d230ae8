"""The worker process: take the data channel away from the framework's printing, import the framework, do the task.

Usage: python -m worker JOB.json --channel DESCRIPTOR
The job names its task, a module of this package, and may name another adapter module than its framework's.
Exit status: 0 when a result or a failure was sent, 1 when not even that was possible.
"""

import argparse
import importlib
import json
import os
import sys
import time

from worker import failures, frameworks
from worker.channel import Channel, monotonic_ns
from worker.identity import hello


def main(arguments=None):
    """Run the job that the command line names; return the exit status of the process."""
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__.splitlines()[0])
    parser.add_argument("job", help="path of the job, a JSON file")
    parser.add_argument("--channel", type=int, required=True, help="descriptor that the answers are written to")
    options = parser.parse_args(arguments)
    channel = Channel(options.channel)
    os.dup2(2, 1)  # whatever the framework prints, from Python or from C, goes where errors go
    try:
        with open(options.job, encoding="utf-8") as file:
            job = json.load(file)
        run(job, channel)
    except BaseException as error:  # SystemExit too: a framework that calls sys.exit() must leave its reason
        channel.send("failure", **failures.describe(error, channel.phase))
    channel.flush_output()
    return 0


def run(job, channel):
    """Import the adapter, say hello, and hand over to the task's module."""
    channel.phase = "import"
    start = time.perf_counter()
    adapter_module = load_adapter(job)
    channel.send("hello", import_seconds=time.perf_counter() - start, monotonic_ns=monotonic_ns(), **hello())
    channel.phase = "task"
    importlib.import_module("worker." + job["task"]).run(job, channel, adapter_module)


def load_adapter(job):
    """Return the adapter's module: the job's own, or that of the cell's framework."""
    if job.get("adapter"):
        return importlib.import_module(job["adapter"])
    return frameworks.load(job["cell"]["framework"])


if __name__ == "__main__":
    sys.exit(main())
