"""Which frameworks can be tested here: those whose environment is built."""

import json
from pathlib import Path

from faults.suite import REFERENCE
from host import catalogue

BUILT = catalogue.ROOT / ".environments" / "cpu"


def ready(wanted=None):
    """Return {framework key: its environment's Python}; ValueError if one that is wanted has none.

    wanted  framework keys; None is all but the reference, which is the judge
    """
    found = {}
    for framework in wanted or [name for name in catalogue.frameworks("cpu") if name != REFERENCE]:
        python = python_of(framework)
        if python is not None:
            found[framework] = python
        elif wanted:
            problem = "framework {!r}: there is no environment {}: run `make quick` first, which builds it"
            raise ValueError(problem.format(framework, catalogue.relative(BUILT / framework)))
    return found


def python_of(framework):
    """Return the Python of a framework's environment, None if it is not built."""
    try:
        status = json.loads((BUILT / (framework + ".json")).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    python = Path(status.get("prefix") or "/none") / "bin" / "python"
    return python if status.get("status") == "ready" and python.exists() else None
