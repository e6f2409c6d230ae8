"""Environments: what can be built is built once, what cannot says why, and a status file always comes of it."""

import io
import os
import sys

import pytest

from host import catalogue, environments, interpreters

HEAD = "channels: [conda-forge]\ndependencies:\n"
HERE = "{}.{}".format(*sys.version_info[:2])


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return a function that builds the environment of a YAML text for the key `reference`."""
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    (tmp_path / "envs" / "cpu").mkdir(parents=True)
    config = {"pythons": [], "offline": False, "environments": str(tmp_path / "built")}

    def build(text, activated=False, **changes):
        (tmp_path / "envs/cpu/reference.yaml").write_text(HEAD + text)
        log = io.StringIO()
        status = environments.make(
            "reference", "cpu", tmp_path / "built/cpu/reference.json", dict(config, **changes), activated, log
        )
        assert environments.read_status(tmp_path / "built/cpu/reference.json") == status
        return status

    return build


NUMPY = "  - python={}\n  - pip\n  - pip:\n      - numpy==2.4.6\n".format(HERE)
UNBUILDABLE = {
    "missing interpreter": ("  - python=2.3\n", {}, ["needs Python 2.3", "missing interpreter", "config/config.yaml"]),
    "conda package": ("  - python={}\n  - cudatoolkit=10\n".format(HERE), {}, ["cudatoolkit=10", "--sdm conda"]),
    "no python": ("  - pip\n", {}, ["reference.yaml: dependencies", "python=X.Y"]),
    "no list": ("  - python: {{\n", {}, ["reference.yaml: not YAML"]),
    "no such version": (NUMPY.replace("2.4.6", "99.9"), {}, ["numpy==99.9"]),
    "no cache and no network": (NUMPY, {"offline": True}, ["network was disabled", "numpy"]),
}


@pytest.mark.parametrize("case", UNBUILDABLE)
def test_what_cannot_be_built_says_why_and_raises_nothing(make, case):
    text, changes, words = UNBUILDABLE[case]
    status = make(text, **changes)
    assert status["status"] == "failed" and status["prefix"] is None
    for word in words:
        assert word in status["reason"], status["reason"]


def test_an_environment_is_built_once_and_again_only_when_its_content_changes(make, tmp_path):
    status = make(NUMPY)
    assert status["status"] == "ready", status["reason"]
    mark = tmp_path / "built/cpu/reference/mark"
    mark.touch()
    assert make("# a comment\n" + NUMPY) == status and mark.exists(), "a comment builds nothing"
    changed = make(NUMPY.replace("2.4.6", "2.4.5"))
    assert changed["status"] == "ready" and not mark.exists()


def test_an_environment_whose_interpreter_is_gone_is_built_again(make, tmp_path):
    make(NUMPY)
    python = tmp_path / "built/cpu/reference/bin/python"
    python.unlink()
    assert make(NUMPY)["status"] == "ready" and python.exists()


def test_a_framework_that_does_not_import_is_a_failed_environment(make):
    status = make("  - python={}\n".format(HERE))  # without NumPy
    assert status["status"] == "failed" and "numpy" in status["reason"]


def test_what_snakemake_builds_is_left_to_it(make):
    status = make("  - python=2.3\n  - cudatoolkit=10\n", activated=True)
    assert (status["status"], status["deployment"], status["prefix"]) == ("ready", "conda", None)


def test_an_interpreter_is_found_by_running_it(tmp_path, monkeypatch):
    broken = tmp_path / ("python" + HERE)
    broken.write_text("#!/bin/sh\necho a shim that fails >&2\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", "{}{}{}".format(tmp_path, os.pathsep, os.environ["PATH"]))
    found = interpreters.find(HERE)
    assert found != broken and interpreters.version(found).startswith(HERE + ".")


def test_an_interpreter_named_in_the_configuration_comes_first(tmp_path):
    link = tmp_path / "mine"
    link.symlink_to(sys.executable)
    assert interpreters.find(HERE, [str(link)]) == link


def test_version_3_1_is_not_3_11():
    assert interpreters.find("3.1") is None


def test_find_links_of_pip_reach_uv(monkeypatch):
    monkeypatch.setenv("PIP_FIND_LINKS", "/some/wheels /other/wheels")
    assert {"/some/wheels", "/other/wheels"} <= set(environments.find_links())
