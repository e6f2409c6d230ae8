"""A fresh clone draws everything from the records that it carries, runs nothing, and gets what it carries."""

import json

import pytest

import checkout

ARGUMENTS = ("--config", "study=quick", "records=examples/records", "results=results/redrawn")
OF_ALL = ("--config", "study=equivalence", "records=examples/records", "results=results/redrawn")


@pytest.fixture(scope="module")
def redrawn(tmp_path_factory):
    """Return (a copy of the checkout after redrawing, what was printed)."""
    folder = checkout.copy(tmp_path_factory.mktemp("redrawn"))
    printed = ""
    for arguments in (ARGUMENTS, OF_ALL):
        status, said = checkout.snakemake(folder, *arguments)
        assert status == 0, said
        printed += said
    return folder, printed


def test_nothing_is_run_and_no_environment_is_made(redrawn):
    folder, printed = redrawn
    assert not (folder / ".environments").exists() and not (folder / "results/records").exists()
    assert "cell 1 of" not in printed and printed.count("recorded, 0 missing") == 2


def test_the_numbers_are_those_that_the_examples_show(redrawn):
    folder, _ = redrawn
    for path, example in (
        ("figures/quick/step_time.csv", "step_time.csv"),
        ("figures/quick/comparison.csv", "comparison.csv"),
        ("tables/quick/throughput.md", "throughput.md"),
        ("tables/quick/ranking.md", "ranking.md"),
        ("figures/equivalence/gate_matrix.csv", "gate_matrix.csv"),
    ):
        assert (folder / "results/redrawn" / path).read_text() == (checkout.ROOT / "examples" / example).read_text()


def test_a_damaged_and_a_failed_record_stand_in_every_output(redrawn):
    folder, _ = redrawn
    records = sorted((folder / "examples/records").rglob("train*r1.json"))
    content = json.loads(records[0].read_text())
    content.update(status="out_of_memory", reason="memory ran out during the first step")
    records[0].write_text(json.dumps(content))
    records[1].write_text(records[1].read_text()[:500])
    status, printed = checkout.snakemake(folder, *ARGUMENTS, "--forcerun", "collect")
    assert status == 0 and "1 damaged" in printed and "1 out of memory" in printed, printed
    for path in ("tables/quick/throughput.md", "figures/quick/step_time.md", "report/quick/guide.md"):
        text = (folder / "results/redrawn" / path).read_text()
        assert "out of memory" in text.replace("_", " ") and "damaged" in text, path
