"""What tables, figure and guide say of a comparison: every pair, every reason, no rank that was not earned."""

import itertools
import math
import random

import numpy as np
import pandas as pd
import pytest

import sample_records as samples
from compared_records import DECLARED, OTHER, cell, collected
from host.results import figures, guide, panels, plugins, style, tables
from host.results.comparison.families import NOT_COMPARED


def write(name, cells, folder):
    tables.write(name, cells, folder)
    return pd.read_csv(folder / (name + ".csv"), keep_default_na=False), (folder / (name + ".md")).read_text()


def test_ranking_has_a_row_a_cell_with_class_letters_rank_and_ratio(tmp_path):
    made = cell("torch"), cell("mxnet", 0.0105), cell("tensorflow", gated=False)
    rows, text = write("ranking", collected(tmp_path / "records", *made)[1], tmp_path)
    assert rows["framework"].tolist() == ["torch", "mxnet", "tensorflow"], "ranked first, by speed"
    assert rows["rank"].tolist() == ["1.0", "2.0", ""] and rows["speed_class"].tolist() == ["1", "2", ""]
    ratio = rows.loc[1, ["low", "ratio", "high"]].astype(float).tolist()
    assert ratio == sorted(ratio) and ratio[0] < 1.05 < ratio[2]
    assert "unverified: the study has no gate cell for it" in text and "Exploratory" not in text


def test_comparison_has_a_row_a_pair_and_one_for_each_cell_that_is_in_none(tmp_path):
    made = cell("torch"), cell("mxnet", 0.0105), cell("tensorflow", gated=False)
    rows, text = write("comparison", collected(tmp_path / "records", *made)[1], tmp_path)
    assert rows["verdict"].tolist() == ["slower", ""] and rows["standing"].tolist() == ["claimed", NOT_COMPARED]
    assert "mxnet {} / torch {}".format(DECLARED["mxnet"], DECLARED["torch"]) in text and "t 95 %" in text
    assert float(rows["resolvable"][0]) > 1.02 and "unverified" in text


def test_comparison_says_when_only_the_correction_leaves_a_pair_open(tmp_path):
    """Three pairs of five blocks with a skewed difference: the sign test cannot fall below 0.0625."""
    made = [cell("mxnet", 0.02, blocks=5), cell("tensorflow", blocks=5), cell("torch", blocks=5)]
    made[0][2]["step_ns"] = [3 * one for one in made[0][2]["step_ns"]]
    made[0][2]["block_ns"] = [[50, 3 * made[0][2]["block_ns"][0][1]]]
    rows, text = write("comparison", collected(tmp_path / "records", *made)[1], tmp_path)
    open_ones = rows[rows["reason"].str.contains("not as one of 3 pairs")]
    assert len(open_ones) == 2 and set(open_ones["verdict"]) == {"unresolved"}
    assert "order 93.75 %" in text


def guide_of(folder, *made):
    return guide.guide("x", collected(folder, *made)[1], {})


def test_guide_says_who_is_faster_who_ties_and_what_is_open(tmp_path):
    other = OTHER[DECLARED["torch"]]
    made = [cell("torch", sd=0.003), cell("tensorflow", sd=0.003), cell("mxnet", 0.013, sd=0.003)]
    text = guide_of(tmp_path, *made, cell("torch", execution=other, sd=0.003, seed=4))
    assert "**Ranked: every comparison.**" in text and "Exploratory" not in text
    line = next(line for line in text.splitlines() if line.startswith("- mlp, training: **"))
    assert "1.3" in line and "× faster than mxnet 1.9.1" in line and " ties with it [" in line
    assert "Speed classes: 1 " in line and "; 2 mxnet 1.9.1" in line
    assert "torch 2.13.0 ({}) is not ranked: ".format(other) in line and "80 % probability" in line


def test_guide_says_unresolved_not_equal(tmp_path):
    text = guide_of(tmp_path, cell("torch", sd=0.05), cell("mxnet", sd=0.05))
    assert " is unresolved against it [" in text and "ties" not in text


def test_guide_of_an_exploratory_study_says_so_once_and_ranks_nobody(tmp_path):
    text = guide_of(
        tmp_path, cell("torch", blocks=5, exploratory=True), cell("mxnet", 0.013, blocks=5, exploratory=True)
    )
    assert text.count("xploratory") == 1 and "Speed classes" not in text and "faster than" not in text
    assert " takes more time than torch" in text


def test_guide_says_which_of_several_comparisons_are_ranked(tmp_path):
    made = [cell("torch"), cell("mxnet"), cell("torch", network="lenet5"), cell("mxnet", network="lenet5", without=[1])]
    text = guide_of(tmp_path, *made)
    assert "**Ranked: 1 of 2 comparisons.**" in text and "- lenet5, training: mxnet" in text


AXES = {"batch": [64, 32], "threads": [1, 2], "precision": ["float32", "tf32"], "learning_rate": [0.05, 0.1],
        "data": ["digits", "other"], "feeding": ["step", "resident"], "hardware": [samples.HARDWARE, "other-4c"],
        "devices": [1, 2], "optimizer": ["sgd", "other"], "momentum": [0.9, 0.0], "weight_decay": [0.0, 5e-4],
        "protocol": ["short", "long"], "execution": ["eager", "compiled"], "mode": ["train", "infer"]}  # fmt: skip


def test_names_tell_all_cells_of_a_study_apart_and_leave_out_what_is_the_same():
    picks = [dict(zip(AXES, values, strict=True)) for values in itertools.product(*AXES.values())]
    cells = pd.DataFrame([samples.cell("torch", **pick) for pick in random.Random(2).sample(picks, 300)])
    names = panels.names(cells)
    assert names.nunique() == 300 and all("learning rate 0." in name and "protocol" in name for name in names)
    alone = panels.names(pd.DataFrame([samples.cell("torch"), samples.cell("torch", "lenet5", threads=2)]))
    assert list(alone) == ["torch eager mlp train batch 64", "torch eager lenet5 train batch 64"]
    modes = panels.names(pd.DataFrame([samples.cell(threads=1), samples.cell(threads=2, mode="infer")]))
    assert all("threads" in name for name in modes), "of one network, whatever the mode"
    two = panels.names(pd.DataFrame([samples.cell(threads=1), samples.cell(threads=2), samples.cell(mode="gate")]))
    assert list(two)[1:] == ["torch eager mlp train batch 64 threads 2", "torch eager mlp gate batch 16"]


def test_guide_names_the_axis_that_differs(tmp_path):
    made = [samples.record(samples.cell(threads=threads), "timeout") for threads in (1, 2)]
    text = guide_of(tmp_path, made)
    assert "train batch 64 threads 1**: timeout" in text and "train batch 64 threads 2**: timeout" in text


def drawn(folder, *made):
    """Draw the comparison of these records; return (figure, caption, rows drawn)."""
    records, cells = collected(folder / "records", *made)
    figures.write("comparison", records, cells, folder)
    module = plugins.load("figure", "comparison")
    with style.context():
        figure = figures.compose(module, figures.rows(module, records, cells))
    return figure, (folder / "comparison.md").read_text(), pd.read_csv(folder / "comparison.csv")


def seen(axes):
    return [text.get_text().replace("\n", " ") for text in axes.texts]


def test_figure_draws_every_pair_with_its_interval_and_verdict(tmp_path):
    figure, caption, rows = drawn(tmp_path, cell("torch"), cell("mxnet", 0.0105), cell("tensorflow", gated=False))
    (axes,) = figure.axes
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels == ["mxnet ÷ torch", "tensorflow"]
    assert "n = 10 torch faster" in seen(axes) and "unverified" in seen(axes)
    marks = {tuple(np.round(line.get_xdata(), 9)) for line in axes.lines}
    assert {tuple(rows.loc[0, ["low", "high"]].round(9)), (rows["ratio"][0].round(9),)} <= marks
    assert axes.get_xscale() == "log" and math.prod(axes.get_xlim()) == pytest.approx(1), "1 is in the middle"
    assert "verdicts of 1 of 1 pairs" in caption and "families: 1." in caption and "t 95 % (n = 10)" in caption
    assert "resolvable with 80 % probability: mlp, training: a ratio of 1.0" in caption


def test_figure_marks_what_order_statistics_decide_and_says_exploratory(tmp_path):
    made = cell("mxnet", 0.02, blocks=5, exploratory=True), cell("torch", blocks=5, exploratory=True)
    made[0][2]["step_ns"] = [3 * one for one in made[0][2]["step_ns"]]
    figure, caption, rows = drawn(tmp_path, *made)
    faces = {line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker() == "o"}
    assert faces == {"white"} and rows["marked"].tolist() == [True]
    assert "order statistics 93.75 % (n = 5)" in caption and "exploratory: no ranking is claimed" in caption
    assert [text.get_text() for text in figure.texts] == ["exploratory: no ranking is claimed"]
