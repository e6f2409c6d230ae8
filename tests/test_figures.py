"""Lint of every file in workflow/figures: print size, fonts, zero or log axis, every repeat and failure, caption."""

import json
import os
import re
import struct
import subprocess
import sys

import matplotlib.colors
import pandas as pd
import pytest

import sample_records as samples
from host import catalogue
from host.results import collect, figures, plugins, style

FIGURES = [name for name in catalogue.names("figure") if plugins.reads("figure", name) == "cells"]
OF_REPEATS = [name for name in FIGURES if not hasattr(plugins.load("figure", name), "rows")]
DRAWN = ("pdf", "svg", "png", "md", "csv", "json")
# What a reader needs to judge a figure; each must be stated and be in the caption's text.
FACTS = {
    "repeats", "interval", "estimator", "hardware", "devices", "threads", "batch", "precision", "execution", "mode",
    "feeding", "protocol", "versions", "dates", "did not end ok", "not shown to be the same computation", "doubtful",
    "replaced attempts", "claim", "numbers", "data and optimiser", "block pass more than 5 % faster",
}  # fmt: skip
MILLIMETRES = {88, 180}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    out = samples.collected(tmp_path_factory.mktemp("study"))[1]
    return pd.read_parquet(out / "records.parquet"), pd.read_parquet(out / "cells.parquet")


@pytest.fixture(scope="module", params=FIGURES)
def drawn(request, study, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    figures.write(request.param, *study, folder, commit="abc1234")
    return request.param, folder


@pytest.fixture
def composed(drawn, study):
    with style.context():
        yield compose(drawn[0], *study)


def compose(name, records, cells):
    """Return the figure as it is drawn of these tables."""
    module = plugins.load("figure", name)
    return figures.compose(module, figures.rows(module, records, cells))


def texts(figure):
    """Return every text that a reader sees: ticks, titles, notes."""
    found = [text.get_text() for axes in figure.axes for text in axes.texts + axes.get_yticklabels()]
    return " ".join(found + [axes.get_title(loc="left") for axes in figure.axes]).replace("\n", " ")


def test_there_is_a_figure():
    assert FIGURES


def test_docstring_asks_a_question_and_explains_the_marks(drawn):
    module = plugins.load("figure", drawn[0])
    assert "?" in plugins.question(module) and len(module.__doc__.strip().splitlines()) > 2
    assert module.ESTIMATOR


def test_all_files_are_written(drawn):
    name, folder = drawn
    assert sorted(path.name for path in folder.iterdir()) == sorted("{}.{}".format(name, kind) for kind in DRAWN)


def test_same_tables_give_the_same_bytes(drawn, study, tmp_path):
    name, folder = drawn
    figures.write(name, *study, tmp_path, commit="abc1234")
    for kind in DRAWN:
        file = "{}.{}".format(name, kind)
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes(), kind


def test_another_process_gives_the_same_bytes(drawn, study, tmp_path):
    name, folder = drawn
    for frame, stem in zip(study, ("records", "cells"), strict=True):
        frame.to_parquet(tmp_path / (stem + ".parquet"), index=False)
    command = [sys.executable, "-m", "host.results.figures", "--name", name, "--commit", "abc1234"]
    command += ["--records", tmp_path / "records.parquet", "--cells", tmp_path / "cells.parquet", "--out", tmp_path]
    environment = dict(os.environ, PYTHONPATH=str(catalogue.WORKFLOW), PYTHONHASHSEED="7", TZ="Asia/Tokyo")
    subprocess.run(command, env=environment, check=True)
    for kind in DRAWN:
        file = "{}.{}".format(name, kind)
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes(), kind


def test_print_size_is_a_column_or_a_page_wide(drawn):
    name, folder = drawn
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", (folder / (name + ".pdf")).read_bytes())
    assert round(float(box.group(1)) / 72 * 25.4) in MILLIMETRES
    width, _ = struct.unpack(">II", (folder / (name + ".png")).read_bytes()[16:24])
    assert round(width / 300 * 25.4) in MILLIMETRES, "300 dots an inch"


def test_fonts_are_embedded_as_truetype(drawn):
    content = (drawn[1] / (drawn[0] + ".pdf")).read_bytes()
    assert b"/FontFile2" in content and b"/Type3" not in content


def test_no_file_holds_a_date_of_drawing(drawn):
    assert b"CreationDate" not in (drawn[1] / (drawn[0] + ".pdf")).read_bytes()
    assert b"<dc:date>" not in (drawn[1] / (drawn[0] + ".svg")).read_bytes()


def test_caption_states_every_fact(drawn):
    name, folder = drawn
    stated = json.loads((folder / (name + ".json")).read_text(encoding="utf-8"))["facts"]
    assert set(stated) >= FACTS and all(stated.values())
    caption = (folder / (name + ".md")).read_text(encoding="utf-8")
    for what, text in stated.items():
        assert "- {}: {}".format(what, text.rstrip(".")) in caption
    assert name not in OF_REPEATS or "93.75 % (n = 5)" in caption
    for must in ("Sample CPU, 2 cores", "torch 2.13.0", "tensorflow 2.21.0", "float32", "abc1234"):
        assert must in caption
    assert "exploratory: no ranking is claimed" in caption and "n = 1 to 5 fresh processes" in caption
    assert name + ".csv" in caption and "measured 2026-01-02" in caption


def test_every_cell_that_did_not_end_ok_is_in_the_drawing_and_in_every_text(drawn, composed):
    seen = texts(composed)
    caption = (drawn[1] / (drawn[0] + ".md")).read_text(encoding="utf-8")
    numbers = (drawn[1] / (drawn[0] + ".csv")).read_text(encoding="utf-8")
    for status in (*samples.STATUSES, "missing", "damaged"):
        words = status.replace("_", " ")
        assert words in seen and words in caption, status
        assert status in numbers or words in numbers, status
    assert drawn[0] not in OF_REPEATS or ("1 crashed, 1 timeout" in seen and "n = 3 of 5" in seen)


def test_not_equivalent_and_unverified_cells_are_marked(drawn, composed):
    seen = texts(composed)
    number = "n = {}; " if drawn[0] in OF_REPEATS else ""
    assert number.format(5) + "not equivalent" in seen and number.format(3) + "unverified" in seen
    assert "exploratory: no ranking is claimed" in [text.get_text() for text in composed.texts]


def test_axis_is_logarithmic_or_starts_at_zero_and_has_a_unit(composed):
    for axes in composed.axes:
        assert axes.get_xscale() == "log" or axes.get_xlim()[0] == 0
        assert re.search(r"\(.+\)$", axes.get_xlabel())
        assert not (axes.patches and axes.get_xscale() == "log"), "no bars on a logarithmic axis"


def test_no_text_is_cut_off_or_smaller_than_six_points(composed):
    renderer = composed.canvas.get_renderer()
    composed.draw(renderer)
    width, height = composed.bbox.size
    for axes in composed.axes:
        for text in axes.texts + axes.get_yticklabels() + axes.get_xticklabels() + [axes.xaxis.label]:
            box = text.get_window_extent(renderer)
            inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width + 1 and box.y1 <= height + 1
            assert inside or not text.get_text(), text.get_text()
            assert text.get_fontsize() >= 6


def test_frameworks_stand_in_one_order_in_every_panel(composed):
    for axes in composed.axes:
        labels = [text.get_text() for text in axes.get_yticklabels() if text.get_text()]
        assert labels == sorted(labels)


def test_numbers_drawn_are_in_csv_and_json_alike(drawn, study):
    name, folder = drawn
    table = pd.read_csv(folder / (name + ".csv"))
    rows = json.loads((folder / (name + ".json")).read_text(encoding="utf-8"))["rows"]
    assert len(table) == len(rows)
    if name not in OF_REPEATS:
        return
    measured = study[0][study[0]["mode"] != "gate"]
    assert len(table) == len(measured)
    drawn_times = sorted(row["step_seconds"] for row in rows if row["step_seconds"] is not None)
    assert drawn_times == sorted(measured["step_seconds"].dropna()) == sorted(table["step_seconds"].dropna())


def redraw(name, made, folder, entries=()):
    """Draw these records alone; return (figure, caption)."""
    entries = [samples.write(folder / "records", one) for one in made] + list(entries)
    found = collect.collect(entries, [folder / "records"])[:2]
    figures.write(name, *found, folder)
    with style.context():
        figure = compose(name, *found)
    return figure, (folder / (name + ".md")).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FIGURES)
def test_figure_without_any_number_still_shows_its_cells(name, tmp_path):
    figure, caption = redraw(name, [samples.record(samples.cell(), "timeout")], tmp_path)
    assert "timeout" in texts(figure) and "no repeat ended ok" in caption
    missing = {"path": "x.json", "cell": samples.cell("jax"), "note": "needs a GPU"}
    assert "missing" in texts(redraw(name, [], tmp_path / "b", [missing])[0])


@pytest.mark.parametrize("name", OF_REPEATS)
def test_every_repeat_is_a_dot_and_one_network_is_a_column_wide(name, tmp_path):
    made = [samples.record(samples.cell(repeat=repeat)) for repeat in range(1, 11)]
    figure, _ = redraw(name, made, tmp_path)
    assert sum(len(dots.get_offsets()) for axes in figure.axes for dots in axes.collections) == 10
    assert round(figure.get_figwidth() * 25.4) == 88


@pytest.mark.parametrize("name", OF_REPEATS)
def test_wide_range_of_times_gets_a_logarithmic_axis(name, tmp_path):
    made = [samples.record(samples.cell(framework), seconds=s) for framework, s in (("torch", 0.001), ("mxnet", 0.1))]
    assert [axes.get_xscale() for axes in redraw(name, made, tmp_path)[0].axes] == ["log"]


@pytest.mark.parametrize("name", OF_REPEATS)
def test_axis_that_varies_makes_panels_of_its_own_and_execution_a_second_row(name, tmp_path):
    made = [samples.record(samples.cell(batch=batch)) for batch in (32, 64)]
    figure, _ = redraw(name, made, tmp_path)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "mlp, training, batch 32",
        "mlp, training, batch 64",
    ]
    made = [samples.record(samples.cell(execution=execution)) for execution in ("eager", "compiled")]
    figure, _ = redraw(name, made, tmp_path / "b")
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert labels == ["torch 2.13.0\ncompiled", "torch 2.13.0\neager"]


@pytest.mark.parametrize("name", FIGURES)
def test_file_that_nobody_can_read_is_drawn_from_records_alone(name, tmp_path):
    entry = samples.write(tmp_path / "records", samples.record(samples.cell("jax")))
    (tmp_path / "records" / entry["path"]).write_text("{", encoding="utf-8")
    samples.write(tmp_path / "records", samples.record(samples.cell()))
    found = collect.collect(collect.found_entries([tmp_path / "records"]), [tmp_path / "records"])[:2]
    with style.context():
        figure = compose(name, *found)
    assert "damaged" in texts(figure) and "jax" in texts(figure)


def test_frameworks_keep_their_colour_when_others_join():
    known = ("torch", "tensorflow", "mxnet", "jax", "theano", "cntk", "caffe")
    looks = {name: style.appearance(name) for name in known}
    assert len({colour for colour, _ in looks.values()}) == len({marker for _, marker in looks.values()}) == len(known)
    assert looks["torch"] == ("#D55E00", "s"), "a change recolours figures that were published"
    assert style.appearance("torch-2.4")[0] == looks["torch"][0]


def test_colours_stay_apart_in_grey_or_their_markers_do():
    def grey(colour):
        red, green, blue = matplotlib.colors.to_rgb(colour)
        return 0.299 * red + 0.587 * green + 0.114 * blue

    assert max(map(grey, style.COLOURS)) < 0.75, "dark enough on white paper"
    assert len(set(style.MARKERS)) == len(style.MARKERS)


def test_unknown_figure_is_answered_with_the_right_name(study, tmp_path):
    with pytest.raises(catalogue.Mistake, match="Did you mean 'step_time'"):
        figures.write("step_times", *study, tmp_path)
