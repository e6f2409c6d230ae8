"""Run a cell with a saboteur as its adapter: python -m saboteurs NAME CACHE [options of host.measure].

The runner's fields that no user can set from the command line are set here; everything else is the real runner.
"""

import os
import sys
from pathlib import Path

from host import measure

FOLDER = Path(__file__).resolve().parent


def run(name, cache, arguments):
    """Return the exit status of the runner."""
    return measure.main(
        arguments,
        adapter="saboteurs." + name,
        adapter_path=FOLDER / (name + ".py"),
        python_path=(FOLDER.parent,),
        environment={"status": "ready", "reason": None, "prefix": sys.prefix, "deployment": "venv"},
        cache=Path(cache),
        grace_seconds=float(os.environ.get("SABOTEUR_GRACE_SECONDS", "1.0")),
        lock=None,
    )


sys.exit(run(sys.argv[1], sys.argv[2], sys.argv[3:]))
