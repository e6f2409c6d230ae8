"""Nothing vanishes and nothing raises: every expected cell has a row, whatever its file is."""

import copy
import json
import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sample_records as samples
from host import records
from host.planning import axes
from host.results import collect, derive
from host.results.words import EQUIVALENT, NOT_EQUIVALENT, UNVERIFIED


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return samples.collected(tmp_path_factory.mktemp("study"))


def run(folder, made, **entry_changes):
    """Write records, collect them and return (records, cells); a change goes to every expected entry."""
    entries = [samples.write(folder, one) | entry_changes for one in made]
    found, cells, _ = collect.collect(entries, [folder])
    return found, cells


@pytest.mark.parametrize("status", ["ok", *samples.STATUSES])
@pytest.mark.parametrize("mode", ["train", "infer", "gate"])
def test_sample_records_fit_the_schema(status, mode):
    records.check(samples.record(samples.cell(mode=mode), status))


def test_every_expected_cell_has_one_row_and_every_status_is_there(study):
    entries, out = study
    found = pd.read_parquet(out / "records.parquet")
    assert sorted(found["path"]) == sorted(entry["path"] for entry in entries)
    assert set(found["status"]) == {"ok", "missing", "damaged", *samples.STATUSES}
    assert not found[(found["status"] != "ok") & (found["reason"] == "")].size
    index = pd.read_parquet(out / "index.parquet")
    assert list(index["path"]) == list(found["path"]) and set(index["study"]) == {"sample"}


def test_cell_counts_its_repeats_and_keeps_their_reasons(study):
    cells = pd.read_parquet(study[1] / "cells.parquet")
    cell = cells[(cells.framework == "tensorflow") & (cells["mode"] == "train")].iloc[0]
    assert (cell.n_expected, cell.n_ok, cell.status) == (5, 3, "incomplete")
    assert json.loads(cell.statuses) == {"ok": 3, "crashed": 1, "timeout": 1}
    assert "crashed (repeat 2): a sample of crashed" in cell.reason and "timeout (repeat 4)" in cell.reason
    assert math.isnan(cell.interval_level), "three repeats carry no interval"


def test_numbers_are_those_of_the_definition(tmp_path):
    made = [samples.record(samples.cell(repeat=repeat), seconds=0.01) for repeat in range(1, 6)]
    found, cells = run(tmp_path, made)
    for row, one in zip(found.to_dict("records"), made, strict=True):
        used = [step * 1e-9 for step in one["step_ns"][int(row["steady_start"]) :]]
        assert row["steady_start"] >= one["warmup_steps"]
        assert row["step_seconds"] == pytest.approx(pd.Series(used).median())
        assert row["step_seconds_mean"] == pytest.approx(sum(used) / len(used))
        assert row["step_seconds_p95"] == pytest.approx(pd.Series(used).quantile(0.95))
        assert row["first_step_seconds"] == pytest.approx(one["step_ns"][0] * 1e-9)
        assert row["block_step_seconds"] == pytest.approx(one["block_ns"][0][1] / one["block_ns"][0][0] * 1e-9)
    cell, times = cells.iloc[0], sorted(found["step_seconds"])
    assert (cell.step_seconds_low, cell.step_seconds_high) == (times[0], times[-1])
    assert cell.step_seconds == pytest.approx(times[2]) and cell.interval_level == 0.9375
    assert cell.samples_per_second == pytest.approx(64 / times[2])
    assert cell.samples_per_second_low == pytest.approx(64 / times[-1])
    assert list(cell.repeats_step_seconds) == list(found["step_seconds"])


def test_p95_needs_a_hundred_used_steps(tmp_path):
    found, _ = run(tmp_path, [samples.record(samples.cell(), steps=90)])
    assert math.isnan(found["step_seconds_p95"].iloc[0]) and found["step_seconds"].iloc[0] > 0


def test_steps_that_never_settle_keep_the_protocols_start_and_say_so(tmp_path):
    made = samples.record(samples.cell())
    made["step_ns"] = [int(1e7 * (1 + 0.3 * step / 120)) for step in range(120)]
    row = run(tmp_path, [made])[0].iloc[0]
    assert row.steady_start == made["warmup_steps"] and "no_steady_state" in row["flags"]


def test_throughput_comes_from_the_block_pass_where_synchronising_costs_more_than_five_percent(tmp_path):
    made = [samples.record(samples.cell(repeat=repeat)) for repeat in range(1, 6)]
    for one in made:
        one["block_ns"] = [[50, int(one["block_ns"][0][1] / 1.2)]]
    cell = run(tmp_path, made)[1].iloc[0]
    assert cell.estimator == "block" and cell.pipelining > 1.05
    assert cell.samples_per_second == pytest.approx(64 / cell.block_step_seconds)
    assert cell.samples_per_second_low < cell.samples_per_second < cell.samples_per_second_high


def test_step_too_short_for_the_clock_has_no_percentile_and_counts_by_the_block_pass(tmp_path):
    made = samples.record(samples.cell(), steps=150)
    made["timer"]["overhead_ns"] = 20_000
    found, cells = run(tmp_path, [made])
    assert "not_resolvable" in found["flags"].iloc[0] and math.isnan(found["step_seconds_p95"].iloc[0])
    assert cells["estimator"].iloc[0] == "block"


@pytest.mark.parametrize(("flag", "counter", "value"), [("preempted", "involuntary_switches", 10_000)])
def test_telemetry_puts_a_repeat_in_doubt(tmp_path, flag, counter, value):
    made = samples.record(samples.cell())
    made["cpu"][counter] = value
    assert run(tmp_path, [made])[1]["flags"].iloc[0] == flag + " 1 of 1"


def test_only_the_last_attempt_of_a_repeat_counts(tmp_path):
    first = samples.record(samples.cell(attempt=0), seconds=0.01)
    second = samples.record(samples.cell(attempt=1), seconds=0.05)
    found, cells = run(tmp_path, [second, first])
    assert list(found["superseded"]) == [False, True]
    assert (cells.n_expected.iloc[0], cells.n_superseded.iloc[0]) == (1, 1)
    assert cells.step_seconds.iloc[0] == pytest.approx(0.05, rel=0.2)


def test_an_attempt_without_a_record_replaces_none(tmp_path):
    entries = [samples.write(tmp_path, samples.record(samples.cell(attempt=0)))]
    later = samples.cell(attempt=1)
    entries.append({"path": axes.record_path(later), "cell": later, "note": ""})
    found, cells, _ = collect.collect(entries, [tmp_path])
    assert list(found["superseded"]) == [False, True] and cells["n_ok"].iloc[0] == 1


DAMAGE = {
    "empty": (b"", "is not JSON"),
    "truncated": (json.dumps(samples.record(samples.cell())).encode()[:500], "is not JSON"),
    "no JSON": (b"Segmentation fault", "is not JSON"),
    "no text": (b"\xff\xfe\x00garbage", "is not UTF-8"),
    "NaN": (json.dumps(samples.record(samples.cell()) | {"gc_collections": math.nan}).encode(), "the literal NaN"),
    "a list": (b"[]", "does not fit the record schema"),
    "deep": (b"[" * 100_000, "is not JSON"),
    "a key too few": (
        json.dumps({k: v for k, v in samples.record(samples.cell()).items() if k != "machine"}).encode(),
        "does not fit the record schema: record: 'machine'",
    ),
    "wrong type": (json.dumps(samples.record(samples.cell()) | {"step_ns": "fast"}).encode(), "step_ns"),
    "other cell": (json.dumps(samples.record(samples.cell(batch=32))).encode(), "batch is 32, expected 64"),
    "ok with a nan loss": (
        json.dumps(samples.record(samples.cell()) | {"losses": [[0, "nan"]]}).encode(),
        "losses",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_file_is_a_row_with_a_reason(tmp_path, kind):
    content, reason = DAMAGE[kind]
    entry = samples.write(tmp_path, samples.record(samples.cell()))
    (tmp_path / entry["path"]).write_bytes(content)
    found, cells, _ = collect.collect([entry], [tmp_path])
    assert (found["status"].iloc[0], cells["status"].iloc[0]) == ("damaged", "damaged")
    assert reason in found["reason"].iloc[0] and entry["path"] in found["reason"].iloc[0]
    assert math.isnan(cells["step_seconds"].iloc[0])


def test_folder_in_a_records_place_is_damaged(tmp_path):
    entry = {"path": axes.record_path(samples.cell()), "cell": samples.cell(), "note": ""}
    (tmp_path / entry["path"]).mkdir(parents=True)
    found, _, _ = collect.collect([entry], [tmp_path])
    assert found["status"].iloc[0] == "damaged" and "cannot be read" in found["reason"].iloc[0]


def spots(value, path=()):
    """Return the path of every value inside a nested value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    return [path + (key,) for key, _ in inner] + [found for key, one in inner for found in spots(one, path + (key,))]


SPOTS = spots(samples.record(samples.cell()))
JUNK = st.sampled_from(
    [None, "", "nan", -1, 0, 10**400, 2**62, 1e308, 1.5, True, [], {}, [[1, 2]], {"a": 1}, "x" * 5000]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(SPOTS), JUNK, st.booleans())
def test_no_record_can_make_collecting_raise(tmp_path, spot, junk, expected):
    made = copy.deepcopy(samples.record(samples.cell()))
    inner = made
    for key in spot[:-1]:
        inner = inner[key]
    inner[spot[-1]] = junk
    target = tmp_path / axes.record_path(samples.cell())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(made), encoding="utf-8")
    entry = {"path": axes.record_path(samples.cell()), "cell": samples.cell(), "note": ""}
    found, cells, _ = collect.collect([entry] if expected else collect.found_entries([tmp_path]), [tmp_path])
    assert len(found) == len(cells) == 1
    assert found["status"].iloc[0] == "ok" or found["reason"].iloc[0]


def test_drawing_from_records_alone_needs_no_list_of_cells(study):
    _, out = study
    folder = out.parent / "records"
    found, _, _ = collect.collect(collect.found_entries([folder]), [folder])
    assert len(found) == len(list(folder.rglob("*.json")))
    assert "damaged" in set(found.loc[found["status"] == "damaged", "framework"])


def test_first_folder_that_has_the_record_wins(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    entry = samples.write(here, samples.record(samples.cell(), seconds=0.01))
    samples.write(there, samples.record(samples.cell(), seconds=0.5))
    other = samples.write(there, samples.record(samples.cell(repeat=2), seconds=0.5))
    found, _, _ = collect.collect([entry, other], [here, there])
    assert found["step_seconds"].iloc[0] < 0.1 < found["step_seconds"].iloc[1]


def test_path_expected_twice_is_refused(tmp_path):
    entry = {"path": "a.json", "cell": samples.cell(), "note": ""}
    with pytest.raises(ValueError, match="a.json"):
        collect.collect([entry, entry], [tmp_path])


def verdict(folder, *gates, of=None):
    """Return (equivalence, reason) of a measured torch cell beside these gate records."""
    _, cells = run(folder, [of or samples.record(samples.cell()), *gates])
    cell = cells[cells["mode"] == "train"].iloc[0]
    return cell.equivalence, cell.equivalence_reason


def gate(checks=None, status="ok", **changes):
    return samples.record(samples.cell(mode="gate", **changes), status, checks=checks)


def test_checks_within_tolerance_make_it_equivalent(tmp_path):
    assert verdict(tmp_path, gate()) == (EQUIVALENT, "")
    on_the_edge = gate([("G2", "w", 1e-3, 1e-3)])
    assert verdict(tmp_path / "edge", on_the_edge)[0] == EQUIVALENT


@pytest.mark.parametrize("error", [0.5, "nan", "inf", None])
def test_one_check_beyond_tolerance_names_the_worst_tensor(tmp_path, error):
    found, reason = verdict(tmp_path, gate([("G1", "loss", 2e-5, 1e-5), ("G2", "c1.weight", error, 1e-3)]))
    assert found == NOT_EQUIVALENT and "G2 c1.weight" in reason and "0.001" in reason


def test_the_reason_is_where_the_disagreement_begins_not_the_largest_error(tmp_path):
    checks = [("G2", "first", 2e-3, 1e-3), ("G4", "what follows", 3e-1, 1.5e-5)]
    assert "backward, in 'first': the forward pass agrees: G2 first: error 0.002" in verdict(tmp_path, gate(checks))[1]


def test_one_failing_gate_record_outweighs_one_that_passes(tmp_path):
    failing = gate([("G2", "w", 1.0, 1e-3)], repeat=2)
    assert verdict(tmp_path, gate(), failing)[0] == NOT_EQUIVALENT


@pytest.mark.parametrize("axis", ["framework", "network", "execution", "precision", "hardware", "devices", "threads"])
def test_gate_of_another_cell_says_nothing(tmp_path, axis):
    other = {"framework": "jax", "network": "lenet5", "execution": "compiled", "precision": "tf32", "hardware": "x-1c"}
    other |= {"devices": 2, "threads": 8}
    found, reason = verdict(tmp_path, gate(**{axis: other[axis]}))
    assert (found, reason) == (UNVERIFIED, "the study has no gate cell for it")


def test_gate_that_did_not_end_ok_leaves_it_unverified_with_the_reason(tmp_path):
    found, reason = verdict(tmp_path, gate(status="crashed"))
    assert found == UNVERIFIED and "crashed: a sample of crashed" in reason


def test_missing_and_damaged_gates_leave_it_unverified(tmp_path):
    entries = [samples.write(tmp_path, samples.record(samples.cell()))]
    wanted = samples.cell(mode="gate")
    entries.append({"path": axes.record_path(wanted), "cell": wanted, "note": "no record yet"})
    for content, word in ((None, "missing"), ("{", "damaged")):
        if content:
            Path(tmp_path, entries[1]["path"]).write_text(content, encoding="utf-8")
        _, cells, _ = collect.collect(entries, [tmp_path])
        assert cells["equivalence"].iloc[0] == UNVERIFIED and word in cells["equivalence_reason"].iloc[0]


@pytest.mark.parametrize("part", ["adapter", "worker", "network", "environment"])
def test_gate_of_other_sources_leaves_it_unverified(tmp_path, part):
    made = gate()
    made["fingerprint"] = samples.fingerprint(made["cell"], **{part: "changed"})
    found, reason = verdict(tmp_path, made)
    assert found == UNVERIFIED and part in reason


def test_unknown_fingerprint_is_not_the_same_sources(tmp_path):
    both = samples.record(samples.cell()), gate()
    for made in both:
        made["fingerprint"] = dict.fromkeys(made["fingerprint"])
        made["why"]["fingerprint"] = "sources cannot be read"
    assert verdict(tmp_path, both[1], of=both[0])[0] == UNVERIFIED


def test_gate_without_checks_verifies_nothing(tmp_path):
    made = gate()
    made["gate"]["checks"] = []
    assert verdict(tmp_path, made) == (UNVERIFIED, "its gate cell compared nothing")


def test_record_of_other_sources_than_the_present_is_stale(tmp_path):
    made = samples.record(samples.cell())
    present = samples.fingerprint(made["cell"])
    assert not run(tmp_path / "a", [made], fingerprint=present)[1]["stale"].iloc[0]
    found, cells = run(tmp_path / "b", [made], fingerprint=present | {"worker": "f" * 64})
    assert found["stale"].iloc[0] and cells["stale"].iloc[0] and "stale 1 of 1" in cells["flags"].iloc[0]
    assert not run(tmp_path / "c", [made])[1]["stale"].iloc[0], "without the present sources nothing is stale"


def test_record_of_other_lengths_than_the_studys_is_stale(tmp_path):
    made = samples.record(samples.cell())
    assert not run(tmp_path / "a", [made], protocol=made["protocol"])[1]["stale"].iloc[0]
    found, _ = run(tmp_path / "b", [made], protocol=made["protocol"] | {"min_steps": 51})
    assert found["stale"].iloc[0]


def test_gate_network_without_a_fit_start_verifies_nothing(tmp_path):
    made = gate()
    made["gate"]["start"] = {"tries": 60, "smallest_gap": 1e-9, "fit": False}
    found, reason = verdict(tmp_path, made)
    assert found == UNVERIFIED and "no start that is far enough from ties" in reason


def test_columns_have_one_type_whatever_the_cells_did(study, tmp_path):
    _, out = study
    nothing = samples.cell()
    alone = collect.collect([{"path": axes.record_path(nothing), "cell": nothing, "note": ""}], [tmp_path])
    for frame, name in zip(alone, ("records", "cells", "index"), strict=True):
        full = pd.read_parquet(out / (name + ".parquet")).drop(columns="study")
        assert dict(frame.dtypes.astype(str)) == dict(full.dtypes.astype(str)), name


def test_collecting_changes_no_record_and_gives_the_same_bytes_twice(study, tmp_path):
    entries, out = study
    folder = out.parent / "records"
    before = {path: path.read_bytes() for path in folder.rglob("*.json")}
    arguments = ["--study", "sample", "--records", str(folder), "--cells", str(out.parent / "cells.json")]
    collect.main(arguments + ["--out", str(tmp_path)])
    assert before == {path: path.read_bytes() for path in folder.rglob("*.json")}
    for name in ("records", "cells", "index"):
        assert (tmp_path / (name + ".parquet")).read_bytes() == (out / (name + ".parquet")).read_bytes()


def test_every_axis_of_a_cell_is_a_column(study):
    found = pd.read_parquet(study[1] / "records.parquet")
    assert set(samples.cell()) == set(derive.REPEAT_AXES) <= set(found)
