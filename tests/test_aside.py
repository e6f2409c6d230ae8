"""Setting aside moves records, forgets environments that could not be built, and deletes nothing."""

import json
import shutil

import pytest

import checkout

CELLS = [{"framework": "reference", "network": "mlp", "batch": 8, "repeats": 2}]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a copy with a complete study of three cells."""
    return checkout.finished(tmp_path_factory.mktemp("finished"), "tiny", CELLS)


@pytest.fixture
def folder(finished, tmp_path):
    """Return a copy of it to change, without its environment."""
    return shutil.copytree(
        finished, tmp_path / "copy", ignore=shutil.ignore_patterns(".environments", ".snakemake"), symlinks=True
    )


def aside(folder, which):
    """Run the command; return what it printed."""
    command = [str(checkout.BIN / "python"), "-m", "host.aside", "--which", which, "--study", "tiny"]
    return checkout.run(command, folder, PYTHONPATH=str(folder / "workflow"))


def names(folder):
    """Return the names of all JSON files below a folder."""
    return sorted(path.name for path in folder.rglob("*.json"))


def test_failed_and_damaged_records_are_moved_and_measured_again(folder):
    failed, damaged, good = sorted((folder / "results/records").rglob("*.json"))
    content = json.loads(failed.read_text())
    failed.write_text(json.dumps(dict(content, status="timeout", reason="not done within 60 s", gate=None)))
    damaged.write_text("{")
    printed = aside(folder, "failed")
    assert "timeout: not done within 60 s" in printed and "damaged" in printed and "2 records moved to" in printed
    assert names(folder / "results/records") == [good.name]
    assert names(folder / "results/aside") == sorted([failed.name, damaged.name])
    assert "no record is failed" in aside(folder, "failed")
    status, printed = checkout.snakemake(folder, "--config", "study=tiny")
    assert status == 0 and "2 missing" in printed and "3 ok" in printed


def test_stale_records_are_moved_and_a_comment_makes_none_stale(folder):
    adapter = folder / "workflow/worker/frameworks/reference.py"
    source = adapter.read_text()
    adapter.write_text("# a comment\n" + source)
    assert "no record is stale" in aside(folder, "stale")
    adapter.write_text(source + "\nCHANGED = True\n")
    assert "measured with another adapter" in aside(folder, "stale")
    assert names(folder / "results/records") == [] and len(names(folder / "results/aside")) == 3


def test_an_environment_that_could_not_be_built_is_tried_again(folder):
    path = folder / ".environments/cpu/reference.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"status": "failed", "reason": "no network", "prefix": None}))
    aside(folder, "failed")
    assert not path.exists()


def test_an_unknown_study_is_answered(folder):
    command = [str(checkout.BIN / "python"), "-m", "host.aside", "--which", "failed", "--study", "tinny"]
    printed = checkout.run(command, folder, PYTHONPATH=str(folder / "workflow"))
    assert "Did you mean 'tiny'?" in printed and "Traceback" not in printed
