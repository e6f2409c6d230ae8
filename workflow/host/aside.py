"""Set records aside so that their cells are measured again: moved, never deleted.

Usage: python -m host.aside --which failed|stale --study quick
`failed` are records whose status is not ok (`unsupported` too: an environment that could not be built is tried again);
`stale` are those measured with other sources than the checkout's.
"""

import argparse
import datetime
import os
import sys
from pathlib import Path

from host import catalogue, environments, fingerprint, records
from host.planning import flow


def choose(plan, which):
    """Return [(record path, reason)] of the study's records that are to be set aside."""
    chosen = []
    for path in sorted(path for path in plan.present if (plan.records / path).exists()):  # not those of other sites
        cell = plan.cells[path]
        try:
            record = records.read(plan.records / path)
        except (OSError, ValueError) as error:
            chosen.append((path, "damaged: {}".format(error)))
            continue
        wrong = [name for name in cell if record["cell"].get(name) != cell[name]]
        if wrong:
            chosen.append((path, "damaged: it is of another cell: {} differs".format(", ".join(wrong))))
            continue
        if which == "failed" and record["status"] != "ok":
            chosen.append((path, "{}: {}".format(record["status"], record["reason"])))
        if which == "stale":
            now = fingerprint.of_cell(cell, plan.hardware.accelerator(cell["hardware"]))
            changed = [name for name in now if record["fingerprint"].get(name) != now[name]]
            if changed:
                chosen.append((path, "measured with another {}".format(", ".join(changed))))
    return chosen


def move(plan, paths, stamp):
    """Move records below results/aside/<stamp>/, keeping their paths; a file that is there is never overwritten."""
    folder = Path(plan.output("aside", stamp))
    for path in paths:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            raise FileExistsError(target)
        os.rename(plan.records / path, target)
    return folder


def forget_failures(plan):
    """Remove the status files of environments that could not be built or are gone, so that they are built again."""
    for path in plan.status_files():
        status = environments.read_status(path)
        gone = status is not None and status["prefix"] and not environments.interpreter(status["prefix"]).exists()
        if status is not None and (status["status"] != "ready" or gone):
            os.unlink(path)


def main(arguments=None):
    """Set aside what the command line asks for and say what was moved where."""
    parser = argparse.ArgumentParser(prog="python -m host.aside", description=__doc__.splitlines()[0])
    parser.add_argument("--which", choices=("failed", "stale"), required=True)
    parser.add_argument("--study", required=True)
    options = parser.parse_args(arguments)
    try:
        plan = flow.plan({"study": options.study}, "--study")
    except catalogue.Mistake as error:
        sys.stderr.write("{}\n".format(error))
        return 2
    chosen = choose(plan, options.which)
    if options.which == "failed":
        forget_failures(plan)
    if not chosen:
        sys.stderr.write("study {}: no record is {}\n".format(options.study, options.which))
        return 0
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    folder = move(plan, [path for path, _ in chosen], stamp)
    for path, reason in chosen:
        sys.stderr.write("{}: {}\n".format(path, reason.splitlines()[0]))
    sys.stderr.write("{} records moved to {}; the next call measures their cells again\n".format(len(chosen), folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
