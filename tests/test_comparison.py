"""Who is compared with whom, and who is ranked: from records to pairs, verdicts and ranks."""

import json
import math
import random

import numpy as np
import pandas as pd
import pytest

import sample_records as samples
from compared_records import DECLARED, OTHER, cell, collected, compared, repeat
from host.results import tables
from host.results.comparison import families
from host.results.comparison.families import EXPLORATORY, NOT_COMPARED, RANKED, SHOWN


def entry(found, framework, **axes):
    """Return the one entry of a framework."""
    rows = found.entries[found.entries["framework"] == framework]
    for name, value in axes.items():
        rows = rows[rows[name] == value]
    (index,) = rows.index
    return rows.loc[index]


def test_a_known_effect_is_declared_and_ranked(tmp_path):
    """5 % slower, 1 % between processes, ten blocks."""
    found = compared(tmp_path, cell("torch"), cell("mxnet", 0.0105))
    (pair,) = found.pairs.to_dict("records")
    assert (pair["blocks"], pair["verdict"], pair["exploratory"], pair["ranked"]) == (10, "slower", False, True)
    assert pair["low"] < 1.05 < pair["high"] and pair["first"] == entry(found, "mxnet").name, "in the alphabet's order"
    torch, mxnet = entry(found, "torch"), entry(found, "mxnet")
    assert (torch["speed_class"], torch["letters"], torch["rank"]) == (1, "a", 1.0)
    assert (mxnet["speed_class"], mxnet["letters"], mxnet["rank"]) == (2, "b", 2.0)


def test_the_leader_may_be_the_first_of_the_pair_too(tmp_path):
    """The pair stands in the alphabet's order, whoever is faster: mxnet, the first, is."""
    found = compared(tmp_path, cell("torch", 0.0105, sd=0.005), cell("mxnet", sd=0.005))
    assert found.pairs["verdict"].tolist() == ["faster"] and found.pairs["high"].iloc[0] < 1 / 1.02
    assert (entry(found, "mxnet")["rank"], entry(found, "torch")["rank"]) == (1.0, 2.0)
    (leader,) = families.leaders(found)
    ratio, low, high = families.against(found, leader)[entry(found, "torch").name]
    assert leader == entry(found, "mxnet").name and 1.02 < low < ratio < high and low < 1.05 < high


def test_a_difference_stands_only_after_correction_for_all_pairs_of_the_family():
    pairs = [{"verdict": "slower", "p": p, "spread": 0.02, "blocks": 10} for p in (0.03, 0.001, 0.2)]
    families.correct(pairs)
    assert [pair["p_holm"] for pair in pairs] == pytest.approx([0.06, 0.003, 0.2])
    assert [pair["verdict"] for pair in pairs] == ["unresolved", "slower", "unresolved"]
    assert {pair["pairs"] for pair in pairs} == {3}


def test_the_same_cell_under_two_names_ties(tmp_path):
    found = compared(tmp_path, cell("torch", sd=0.004), cell("mxnet", sd=0.004))
    assert found.pairs["verdict"].tolist() == ["equal"]
    assert found.entries["rank"].tolist() == [1.5, 1.5] and set(found.entries["letters"]) == {"a"}


def test_what_moves_a_whole_block_does_not_hide_a_difference(tmp_path):
    """Blocks differ by 20 %, frameworks by 5 %: paired it is found, unpaired it is not."""
    blocks = np.random.RandomState(3).normal(0, 0.2, 10)
    made = []
    for framework, seconds in (("torch", 0.01), ("mxnet", 0.0105)):
        own = np.random.RandomState(samples.hash_of(framework) % 2**31).normal(0, 0.005, 10)
        made.append([repeat(framework, b + 1, seconds * math.exp(blocks[b] + own[b])) for b in range(10)])
        made.append(cell(framework, blocks=0))
    (pair,) = compared(tmp_path, *made).pairs.to_dict("records")
    assert pair["verdict"] == "slower" and pair["unpaired_low"] < 1 < pair["unpaired_high"]


def test_a_factor_on_all_of_one_frameworks_times_shifts_the_ratio_by_it(tmp_path):
    before = compared(tmp_path / "a", cell("torch"), cell("mxnet")).pairs.iloc[0]
    after = compared(tmp_path / "b", cell("torch"), cell("mxnet", 0.013)).pairs.iloc[0]
    for name in ("t_low", "t_high", "order_low", "order_high"):
        assert after[name] == pytest.approx(1.3 * before[name], rel=1e-6)


def test_a_lost_block_is_dropped_from_the_pair_and_nine_are_exploratory(tmp_path):
    found = compared(tmp_path, cell("torch", without=[3]), cell("mxnet", 0.012), cell("tensorflow", 0.0121))
    by_framework = {found.entries["framework"][p["first"]] + " " + found.entries["framework"][p["second"]]: p
                    for p in found.pairs.to_dict("records")}  # fmt: skip
    short = by_framework["mxnet torch"]
    assert short["blocks"] == 9 and short["exploratory"] and not short["ranked"]
    assert short["dropped"] == "1 without a partner that ended ok"
    assert by_framework["mxnet tensorflow"]["blocks"] == 10 and by_framework["mxnet tensorflow"]["ranked"]
    torch = entry(found, "torch")
    assert torch["standing"] == EXPLORATORY and "9 repeats: a rank needs 10" in torch["why"]
    assert math.isnan(torch["rank"]) and torch["letters"] == "", "though it is the fastest"
    assert entry(found, "mxnet")["rank"] == entry(found, "tensorflow")["rank"] == 1.5


def test_cells_whose_repeats_lie_in_different_blocks_are_not_ranked_together(tmp_path):
    found = compared(tmp_path, cell("torch", blocks=12, without=[1, 2]), cell("mxnet", blocks=10))
    assert found.pairs["blocks"].tolist() == [8] and not found.pairs["ranked"].any()
    assert set(found.entries["standing"]) == {EXPLORATORY} and found.entries["rank"].isna().all()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda made: made["block"].update(invocation="another"), "measured in different calls"),
        (lambda made: made["machine"].update(slurm_node="node07"), "on different machines"),
        (lambda made: made["machine"].update(gpus=[{"uuid": "GPU-2", "model": "x"}]), "on different machines"),
        (lambda made: made.update(block=None), "not measured in a block"),
    ],
)
def test_pairs_are_formed_only_within_a_block_on_one_machine(tmp_path, change, word):
    torch = cell("torch")
    for made in torch[2:10]:
        change(made)
    (pair,) = compared(tmp_path, torch, cell("mxnet")).pairs.to_dict("records")
    assert pair["blocks"] == 2 and word in pair["dropped"] and pair["verdict"] == "no claim"


@pytest.mark.parametrize(("blocks", "verdict"), [(4, "no claim"), (5, "slower"), (9, "slower")])
def test_below_five_blocks_nothing_is_claimed_and_below_ten_nothing_ranked(tmp_path, blocks, verdict):
    found = compared(tmp_path, cell("torch", blocks=blocks), cell("mxnet", 0.02, blocks=blocks))
    (pair,) = found.pairs.to_dict("records")
    assert (pair["verdict"], pair["exploratory"]) == (verdict, True)
    assert math.isnan(pair["low"]) == (blocks < 5) and pair["ratio"] == pytest.approx(2, rel=0.05)
    assert set(found.entries["standing"]) == {EXPLORATORY} and found.entries["rank"].isna().all()


def test_an_exploratory_protocol_ranks_nothing_whatever_its_repeats(tmp_path):
    found = compared(tmp_path, cell("torch", exploratory=True), cell("mxnet", 0.02, exploratory=True))
    assert found.pairs["verdict"].tolist() == ["slower"] and found.pairs["exploratory"].all()
    assert set(found.entries["standing"]) == {EXPLORATORY} and found.entries["speed_class"].isna().all()


@pytest.mark.parametrize("kind", ["unverified", "not equivalent", "stale"])
def test_what_is_not_shown_to_be_the_same_computation_is_not_compared(tmp_path, kind):
    checks = [("G2", "w", 1.0, 1e-3)] if kind == "not equivalent" else None
    made = cell("torch", gated=kind != "unverified", checks=checks), cell("mxnet", 0.02), cell("tensorflow", 0.02)
    records, cells = collected(tmp_path, *made)
    if kind == "stale":
        cells.loc[cells["framework"] == "torch", "n_stale"] = 1
    found = families.compare(cells)
    torch = entry(found, "torch")
    assert torch["standing"] == NOT_COMPARED and torch["why"].startswith(kind) and len(found.pairs) == 1
    assert math.isnan(torch["rank"]) and "torch" not in str(found.entries.loc[found.entries["rank"] > 0, "framework"])


def test_a_cell_that_did_not_end_ok_is_listed_with_its_reason(tmp_path):
    lost = [samples.record(samples.cell("jax", repeat=1), "out_of_memory", "needs 9 GB")]
    found = compared(tmp_path, cell("torch"), cell("mxnet"), lost)
    assert (entry(found, "jax")["standing"], len(found.pairs)) == (NOT_COMPARED, 1)
    assert "needs 9 GB" in entry(found, "jax")["why"]


def test_of_each_framework_the_declared_execution_is_ranked_and_the_others_count_as_pairs(tmp_path):
    other = OTHER[DECLARED["torch"]]
    found = compared(tmp_path, cell("torch"), cell("torch", 0.005, execution=other, seed=5), cell("mxnet", 0.02))
    assert (found.pairs["pairs"] == 3).all(), "Holm corrects for all of them"
    assert found.pairs["ranked"].sum() == 1
    shown = entry(found, "torch", execution=other)
    assert shown["standing"] == SHOWN and DECLARED["torch"] in shown["why"] and math.isnan(shown["rank"])
    assert entry(found, "torch", execution=DECLARED["torch"])["rank"] == 1.0, "of the ranked it is the fastest"


def test_only_the_undeclared_execution_measured_is_shown_not_ranked(tmp_path):
    found = compared(tmp_path, cell("torch", execution=OTHER[DECLARED["torch"]]), cell("mxnet", 0.02))
    assert entry(found, "torch")["standing"] == SHOWN and len(found.pairs) == 1
    assert entry(found, "mxnet")["standing"] == EXPLORATORY and "stands beside it" in entry(found, "mxnet")["why"]


ELSEWHERE = {"network": "lenet5", "hardware": "other-2c", "batch": 32, "devices": 2, "threads": 2, "mode": "infer"}
ELSEWHERE |= {"precision": "tf32", "feeding": "resident", "data": "other", "optimizer": "other", "protocol": "other"}
ELSEWHERE |= {"learning_rate": 0.1, "momentum": 0.0, "weight_decay": 1e-4}


@pytest.mark.parametrize("axis", sorted(set(samples.cell()) - {"framework", "execution", "repeat", "attempt"}))
def test_cells_that_differ_in_any_axis_are_of_two_families(tmp_path, axis):
    cells = collected(tmp_path, cell("torch"), cell("mxnet"))[1]
    cells = cells[cells["mode"] != "gate"].copy()
    cells.loc[cells["framework"] == "mxnet", axis] = ELSEWHERE[axis]
    found = families.compare(cells)
    assert found.entries["family"].nunique() == 2 and found.pairs.empty


def test_families_do_not_correct_each_other(tmp_path):
    cells = collected(tmp_path, cell("torch"), cell("mxnet", 0.0105))[1]
    alone = families.compare(cells).pairs.iloc[0]
    other = cells.assign(network="lenet5", path="other/" + cells["path"])
    both = families.compare(pd.concat([cells, other], ignore_index=True)).pairs
    assert len(both) == 2 and both["p_holm"].tolist() == [alone["p_holm"]] * 2


def test_a_family_is_compared_by_one_pass_where_synchronising_costs_more_than_five_percent_for_any(tmp_path):
    """torch's steps are 1 % slower than its blocks, mxnet's 20 %: in the block pass they are equal."""
    made = cell("torch", 0.0101, sd=0.001, block=1 / 1.01), cell("mxnet", 0.012, sd=0.001, block=1 / 1.2)
    found = compared(tmp_path, *made)
    assert set(found.entries["estimator"]) == {"block"} and found.pairs["verdict"].tolist() == ["equal"]
    assert found.pairs["ratio"].iloc[0] == pytest.approx(1, abs=0.002)


def test_a_cell_without_the_pass_that_its_family_needs_is_not_compared(tmp_path):
    cells = collected(tmp_path, cell("torch"), cell("mxnet", block=1 / 1.2), cell("tensorflow"))[1]
    torch = (cells["framework"] == "torch") & (cells["mode"] == "train")
    repeats = json.loads(cells.loc[torch, "repeats"].iloc[0])
    repeats[4]["block"] = None
    cells.loc[torch, "repeats"] = json.dumps(repeats)
    found = families.compare(cells)
    assert "no block pass" in entry(found, "torch")["why"] and len(found.pairs) == 1


def test_a_framework_without_adapter_is_shown_not_ranked(tmp_path, monkeypatch):
    monkeypatch.setitem(DECLARED, "gone", "eager")
    found = compared(tmp_path, cell("gone"), cell("mxnet"), cell("torch"))
    assert entry(found, "gone")["standing"] == SHOWN and "no adapter" in entry(found, "gone")["why"]
    assert len(found.pairs) == 3 and (found.entries["standing"] == RANKED).sum() == 2


def test_the_order_of_the_cells_changes_nothing(tmp_path):
    cells = collected(tmp_path, cell("torch"), cell("mxnet", 0.0105), cell("tensorflow", 0.0102))[1]
    order = list(range(len(cells)))
    random.Random(1).shuffle(order)
    one, other = (tables.plugins.load("table", "comparison").table(each) for each in (cells, cells.iloc[order]))
    pd.testing.assert_frame_equal(one, other)


def test_types_do_not_depend_on_what_could_be_compared(tmp_path):
    full = compared(tmp_path / "a", cell("torch"), cell("mxnet"))
    empty = compared(tmp_path / "b", [samples.record(samples.cell("torch"), "timeout")])
    assert empty.pairs.empty and dict(full.pairs.dtypes) == dict(empty.pairs.dtypes)
    assert dict(full.entries.dtypes) == dict(empty.entries.dtypes)
    none = families.compare(collected(tmp_path / "c", cell("torch", blocks=0))[1])
    assert none.entries.empty and none.pairs.empty


def test_every_number_of_the_pairs_comes_back_from_json(tmp_path):
    """The repeats travel to the comparison as text in cells.parquet: no digit may be lost."""
    records, cells = collected(tmp_path, cell("torch"), cell("mxnet"))
    for row in cells[cells["mode"] != "gate"].to_dict("records"):
        stated = [repeat["step"] for repeat in json.loads(row["repeats"])]
        assert stated == list(row["repeats_step_seconds"])
