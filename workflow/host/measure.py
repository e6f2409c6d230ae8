"""Run one cell of a study and leave its record; the entry that the rule `measure` calls.

Usage: python -m host.measure --cell JSON --record PATH [--protocol JSON | --study NAME] [--environment STATUS_FILE] ...
Exit status: 0 when a record stands there, whatever its status; 1 when its caller is gone or none could be written;
2 for a wrong command line; 128 + n when signal n ended it: then no record is written and the next call runs the cell.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the runner's own NumPy must not wake threads beside the worker

from host import catalogue, records
from host.catalogue import Mistake
from host.planning import axes, hardware, study
from host.runner.parents import Parents
from host.runner.request import Interrupted, Request


def main(arguments=None, **replaced):
    """Run the cell that the command line names; return the exit status.

    replaced  fields of Request that a test sets otherwise
    """
    try:
        request = read_request(arguments, **replaced)
    except (Mistake, records.Invalid) as error:
        say("{}".format(error))
        return 2
    records.sweep(request.record)
    if records.is_valid(request.record):
        say("{}: the record is there already: nothing is run".format(request.record))
        return 0
    try:
        return run(request)
    except Interrupted as interruption:
        say("{}: {}".format(axes.describe(request.cell), interruption))
        return interruption.exit_status
    except OSError as error:
        say("{}: the record cannot be written: {}".format(request.record, error))
        return 1


def run(request):
    """Run a cell in this process, which is the runner's alone; return the exit status."""
    parents = Parents(request.started_by)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupt)
    from host.runner import run as runner  # takes half a second: signals are heard before
    from host.runner import start

    start.adopt_orphans()
    if request.record.exists():
        say("{}: is no valid record: kept as {}".format(request.record, records.set_aside(request.record).name))
    place, left = progress(request, time.time())
    name = place + axes.describe(request.cell)
    say(name + left)
    try:
        parents.check()
        status, reason = runner.run(request, parents, say)
    except FileExistsError:
        say("{}: another runner was first: its record stays".format(name))
        return 0
    finally:
        parents.close()
    if status != "ok":
        say("{}: {}: {}".format(name, status, reason))
    return 0


def progress(request, now):
    """Return (`cell 7 of 42: `, `, about 3 min left`) from the request's progress, k/n/start; empty without one.

    The time left is that of the cells done so far, in this call, times the cells to come; none is given for the first.
    The clock starts when this call does, or when it has built the environment.
    """
    if not request.progress:
        return "", ""
    place, count, start = (float(part) for part in request.progress.split("/"))
    with contextlib.suppress(OSError):
        start = max(start, os.path.getmtime(request.environment_path))
    where = "cell {:.0f} of {:.0f}: ".format(place, count)
    if place < 2:
        return where, ""
    seconds = (now - start) / (place - 1) * (count - place + 1)
    return where, ", about {}".format(
        "{:.0f} min left".format(seconds / 60) if seconds > 90 else "{:.0f} s left".format(max(10, round(seconds, -1)))
    )


def interrupt(number, frame):
    """Raise Interrupted once; what comes later must not disturb the cleaning up."""
    for other in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted("{}: no record is written".format(signal.Signals(number).name), 128 + number)


def say(message):
    """Write one line for the user; nobody may be listening any more."""
    try:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()
    except OSError:
        return


def read_request(arguments, **replaced):
    """Return the Request of a command line; raise Mistake or records.Invalid for what is wrong with it."""
    options = parser().parse_args(arguments)
    cell = options.cell
    records.check(cell, "cell")
    environment_path = options.environment or Path(".environments", options.accelerator, cell["framework"] + ".json")
    fields = {
        "cell": cell,
        "protocol": find_protocol(options),
        "record": options.record,
        "environment_path": str(environment_path),
        "accelerator": options.accelerator,
        "study": options.study,
        "block": options.block,
        "progress": options.progress,
        "log": options.log,
        "memory_limit_bytes": options.memory_limit_bytes,
        "started_by": options.started_by,
        "here": hardware.load().here if options.check_hardware else None,
    }
    if "environment" not in replaced:
        fields["environment"] = read_environment(environment_path)
        if options.activated:
            fields["environment"]["deployment"] = "conda"
    if options.cache:
        fields["cache"] = options.cache.resolve()  # the worker runs in another folder
    if options.no_lock:
        fields["lock"] = None
    return Request(**{**fields, **replaced})


def read_environment(path):
    """Return an environment's status file; raise Mistake if it is not there."""
    try:
        status = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        problem = "the environment's status file cannot be read ({}); `snakemake` writes it before it runs a cell"
        raise Mistake("--environment: {}: {}".format(path, problem.format(error))) from None
    return {"deployment": "venv", "reason": None, "prefix": None, **status}


def find_protocol(options):
    """Return the protocol of the cell: from --protocol, or from the study's file. Gate cells have a deadline only."""
    given = options.protocol
    if given is None and options.study is not None:
        where = "--study"
        given = study.read_yaml(catalogue.find("study", options.study, where)).get("protocol")
    wanted = options.cell["protocol"]
    if wanted == axes.GATE_PROTOCOL:
        longest = max(axes.NO_PROTOCOL["deadline_seconds"], (given or {}).get("deadline_seconds", 0))
        return dict(axes.NO_PROTOCOL, deadline_seconds=longest)
    if given is None:
        raise Mistake("--protocol: the lengths of protocol {!r} are needed: give --protocol or --study".format(wanted))
    if given.get("name") != wanted:
        raise Mistake("--protocol: name: {!r}: the cell asks for protocol {!r}".format(given.get("name"), wanted))
    return given


def parser():
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m host.measure", description=__doc__.splitlines()[0])
    made.add_argument("--cell", required=True, type=json.loads, help="the cell, a JSON object of its axes")
    made.add_argument("--record", required=True, type=Path, help="where its record is written")
    made.add_argument("--protocol", type=json.loads, help="the lengths, a JSON object; default: the study's")
    made.add_argument("--environment", type=Path, help="status file of the framework's environment")
    made.add_argument("--accelerator", default="cpu", help="the folder of envs/ that the environment is from")
    made.add_argument("--activated", action="store_true", help="Snakemake has activated the environment (--sdm conda)")
    made.add_argument("--study", help="name of the study that asks for the cell")
    made.add_argument("--block", type=json.loads, help="its place in the random order, a JSON object")
    made.add_argument(
        "--progress", help="its place among the cells to run, their number, and when all began in s: 12/42/1700000000"
    )
    made.add_argument("--log", type=Path, help="file for what the worker prints")
    made.add_argument("--cache", type=Path, help="folder for batches and gate bundles")
    made.add_argument("--memory-limit-bytes", type=int, help="limit of the worker's data, byte")
    made.add_argument("--started-by", type=int, metavar="PID", help="the Snakemake whose end ends this cell too")
    made.add_argument("--check-hardware", action="store_true", help="refuse on a machine that the cell is not for")
    made.add_argument("--no-lock", action="store_true", help="do not wait for other cells on this machine")
    return made


if __name__ == "__main__":
    sys.exit(main())
