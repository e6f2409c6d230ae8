"""What all tests share: the import roots, and each framework's environment, built once where it is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
for folder in (ROOT / "tests", ROOT / "workflow"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "workflow"), str(ROOT / "tests")])  # for processes of tests
BUILD_SECONDS = 1200


@pytest.fixture(scope="session")
def root():
    """Return the folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def environment_status():
    """Return a function: framework key -> its environment's status on this CPU; built at the first call if missing."""
    known = {}

    def status(framework):
        if framework not in known:
            known[framework] = read_or_build(framework)
        return known[framework]

    return status


@pytest.fixture(scope="session")
def environment_python(environment_status):
    """Return a function: framework key -> its environment's Python. Where it cannot be built the test is skipped.

    With REQUIRE_ALL=1 in the environment it fails instead, except where only an interpreter is missing.
    """

    def python(framework):
        status = environment_status(framework)
        if status["status"] == "ready":
            return Path(status["prefix"]) / "bin" / "python"
        reason = "{}: {}".format(framework, status["reason"])
        if os.environ.get("REQUIRE_ALL") == "1" and "missing interpreter" not in reason:
            pytest.fail(reason)
        pytest.skip(reason)

    return python


def read_or_build(framework):
    """Return an environment's status, from its file or after building it."""
    path = ROOT / ".environments" / "cpu" / (framework + ".json")
    status = read_status(path)
    if status is None:
        subprocess.run(
            [sys.executable, "-m", "host.environments", "--framework", framework, "--status", str(path)],
            cwd=ROOT,
            check=True,
            timeout=BUILD_SECONDS,
        )
        status = read_status(path)
    assert status is not None, "building {} left no usable status file {}".format(framework, path)
    return status


def read_status(path):
    """Return a status file's content; None if it is missing, damaged, or its environment has gone."""
    try:
        status = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if status["status"] == "ready" and not (Path(status["prefix"] or "/none") / "bin" / "python").exists():
        return None
    return status
