"""The guide says in plain sentences what was measured and what was not, ranks no exploratory study, hides nothing."""

import re

import pytest

import sample_records as samples
from host.results import collect, guide


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    _, out = samples.collected(folder)
    guide.main(
        ["--study", "sample", "--cells", str(out / "cells.parquet"), "--out", str(out), "--place", "tables=some/folder"]
    )
    return (out / "guide.md").read_text(encoding="utf-8")


def test_exploratory_study_claims_no_ranking(text):
    assert "Exploratory: no ranking is claimed." in text
    assert not re.search(r"\b(fastest|slowest|wins|winner|best|rank \d|\d+ ?× faster)\b", text)


def test_numbers_come_with_interval_level_and_n(text):
    assert re.search(r"torch 2\.13\.0: 10\.\d+ ms a step \([\d.]+ to [\d.]+ at 93\.75 %, n = 5\)", text)
    assert re.search(r"tensorflow 2\.21\.0: [\d.]+ ms a step \(n = 3 of 5: too few for an interval\)", text)


def test_every_cell_that_did_not_end_ok_has_its_reason_and_what_to_do(text):
    for status in samples.STATUSES:
        line = next(line for line in text.splitlines() if "a sample of " + status in line)
        assert len(line.split("a sample of " + status, 1)[1]) > 20, "a sentence about what to do follows"
    assert "is not JSON" in text and "hardware elsewhere" in text


def test_not_equivalent_and_unverified_cells_are_named_with_the_reason(text):
    assert re.search(r"mxnet .* not equivalent: .*G2 f1\.weight: error 0\.03 exceeds its tolerance 0\.001", text)
    assert re.search(r"torch .* lenet5 .* unverified: the study has no gate cell", text)
    assert "3 of 5 cells with a number agree" in text


def test_guide_says_where_the_files_are(text):
    assert "- tables: `some/folder`" in text


def guide_of(folder, made, **change):
    entries = [samples.write(folder, one) | change for one in made]
    return guide.guide("x", collect.collect(entries, [folder])[1], {})


def test_failed_gate_cell_is_a_problem_too(tmp_path):
    made = [samples.record(samples.cell()), samples.record(samples.cell(mode="gate"), "timeout", "gate took too long")]
    text = guide_of(tmp_path, made)
    assert re.search(r"\*\*torch eager mlp gate batch 16\*\*: timeout .*gate took too long", text)


def test_study_where_all_ended_ok_says_so(tmp_path):
    text = guide_of(tmp_path, [samples.record(samples.cell(repeat=repeat)) for repeat in range(1, 6)])
    assert "Nothing: every record that is there ended ok." in text and "## What is missing" not in text


def test_stale_and_doubtful_cells_are_named_and_explained(tmp_path):
    made = samples.record(samples.cell())
    made["cpu"]["involuntary_switches"] = 10_000
    text = guide_of(tmp_path, [made], fingerprint=dict.fromkeys(made["fingerprint"], "f" * 64))
    assert "## What is stale" in text and "preempted 1 of 1" in text and "context switches" in text


def test_guide_of_a_study_without_any_record(tmp_path):
    entry = {"path": "a.json", "cell": samples.cell(), "note": "needs a cluster"}
    text = guide.guide("x", collect.collect([entry], [tmp_path])[1], {})
    assert "no ranking is claimed" in text and "needs a cluster" in text and "1 of the study's records" in text


def test_five_repeats_are_exploratory_whatever_the_protocol_says(tmp_path):
    made = [samples.record(samples.cell(repeat=repeat)) for repeat in range(1, 6)]
    for one in made:
        one["protocol"] = dict(one["protocol"], exploratory=False)
    text = guide_of(tmp_path, made)
    assert "Exploratory: no ranking is claimed." in text and "Who is faster" not in text
