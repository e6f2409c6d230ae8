"""The gate's result as table and figure: every gate cell in both, shares and verdicts right; the study behind it."""

import csv
import json
import os
import re
import subprocess
import sys

import pandas as pd
import pytest
import yaml

import sample_records as samples
from host import catalogue
from host.catalogue import Mistake
from host.planning import axes, entries, hardware, study
from host.results import collect, figures, gates, guide, plugins, style, tables

HERE = hardware.Hardware({"far-node": {"accelerator": "cuda", "description": "", "find": {}}}, "sample-2c", True)
TWICE = ("G8", "every gradient, bit by bit the same", 0.0, 1.5e-5)
GOOD = [
    ("G1", "loss step 1", 1e-7, 1e-5),
    ("G2", "c1.weight", 1.2e-5, 1.5e-5),
    ("precision", "c1.weight", 3e-7, 3e-5),
    TWICE,
]
FIRST = "backward, in 'c1': the forward pass agrees: G2 c1.weight: error nan exceeds its tolerance 1.5e-05"


def gate_cell(framework, network="mlp", **changes):
    return samples.cell(framework, network, mode="gate", **changes)


def write_gates(folder):
    """Write gate records of every kind below the folder; return the expected entries."""
    made = [
        samples.record(gate_cell("torch"), checks=GOOD),
        samples.record(gate_cell("torch", execution="compiled"), checks=GOOD),
        samples.record(gate_cell("torch", "char_lstm"), checks=[("G2", "c1.weight", 1.501e-5, 1.5e-5)]),
        samples.record(gate_cell("mxnet"), checks=[("G2", "c1.weight", "nan", 1.5e-5), *GOOD[:1]]),
        samples.record(gate_cell("jax"), checks=GOOD),
        samples.record(samples.cell("torch")),
    ]
    made += [samples.record(gate_cell(name, "lenet5"), status) for name, status in FAILED.items()]
    expected = [samples.write(folder, one) for one in made]
    next(e for e in expected if e["cell"] == made[4]["cell"])["fingerprint"] = samples.fingerprint(
        made[4]["cell"], worker="new"
    )
    absent = gate_cell("tensorflow")
    return expected + [{"path": axes.record_path(absent), "cell": absent, "note": "no record yet"}]


FAILED = dict(zip(("torch", "tensorflow", "mxnet", "jax", "cntk"), samples.STATUSES, strict=False))


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """Return gate.parquet of a study with gate cells of every kind, as collecting writes it."""
    folder = tmp_path_factory.mktemp("gates")
    (folder / "cells.json").write_text(json.dumps(write_gates(folder / "records")), encoding="utf-8")
    arguments = ["--study", "sample", "--records", str(folder / "records"), "--cells", str(folder / "cells.json")]
    collect.main([*arguments, "--out", str(folder)])
    return folder / "gate.parquet"


@pytest.fixture(scope="module")
def summary(gate):
    rows = gates.summary(pd.read_parquet(gate))
    return {(row["framework"], row["execution"], row["network"]): row for row in rows.to_dict("records")}


@pytest.fixture(scope="module")
def made(gate, tmp_path_factory):
    """Return the folder with the table and the figure."""
    folder = tmp_path_factory.mktemp("made")
    tables.write("gate_matrix", pd.read_parquet(gate), folder / "table")
    figures.write_page("gate_matrix", pd.read_parquet(gate), folder / "figure", commit="abc1234")
    return folder


def test_every_comparison_line_is_a_row_and_a_cell_without_any_has_one(gate):
    rows = pd.read_parquet(gate)
    lines = rows[rows["check"] != ""]
    assert len(lines) == 3 * len(GOOD) + 1 + 2 and len(rows) - len(lines) == len(FAILED) + 1
    assert (rows["mode"] == "gate").all() and rows["path"].nunique() == 6 + len(FAILED)
    finite = lines[lines["error"] < float("inf")]
    assert len(lines) - len(finite) == 1 and (finite["share"] == finite["error"] / finite["tolerance"]).all()
    assert set(rows.loc[rows["check"] == "", "status"]) == {*FAILED.values(), "missing"}
    assert (rows["seconds"].dropna() == 10.0).all()


def test_an_error_that_is_no_number_is_infinite_and_named_as_where_it_begins(summary):
    cell = summary["mxnet", "eager", "mlp"]
    assert cell["share"] == cell["error"] == float("inf") and cell["check"] == "G2"
    assert cell["verdict"] == "not equivalent" and cell["first"] == cell["reason"] == FIRST


def test_the_closest_line_and_the_share_of_every_check_are_right(summary):
    cell = summary["torch", "eager", "mlp"]
    assert (cell["verdict"], cell["check"], cell["tensor"]) == ("equivalent", "G2", "c1.weight")
    assert cell["share"] == cell["share_G2"] == pytest.approx(0.8) and cell["share_G1"] == pytest.approx(0.01)
    assert cell["share_precision"] == pytest.approx(0.01) and pd.isna(cell["share_G5"]) and cell["same_bits"] is True
    assert summary["torch", "eager", "char_lstm"]["verdict"] == "not equivalent"
    assert pd.isna(summary["torch", "eager", "char_lstm"]["same_bits"])


def test_a_gate_cell_of_other_sources_is_stale_and_no_verdict(summary):
    cell = summary["jax", "eager", "mlp"]
    assert (cell["verdict"], cell["mark"]) == ("unverified", "stale") and "other sources" in cell["reason"]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0, "0"), (3e-5, "3e-5"), (0.0032, "0.003"), (0.034, "0.03"), (1.0, "1.00"), (1.0004, "1.1"), (37.2, "38")]
    + [(123456.0, "1e5"), (float("inf"), "inf"), (float("nan"), "–")],
)
def test_shares_are_short_and_never_rounded_to_within_the_tolerance(share, text):
    assert gates.compact(share) == text


def test_every_gate_cell_is_a_row_of_every_format_of_the_table(made, summary):
    assert len(pd.read_parquet(made / "table/gate_matrix.parquet")) == len(summary)
    with open(made / "table/gate_matrix.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == len(summary)
    text = (made / "table/gate_matrix.md").read_text()
    assert text.count("\n| ") == len(summary) + 1
    body = (made / "table/gate_matrix.tex").read_text().split("\\endlastfoot")[1].split("\\end{longtable}")[0]
    assert body.count("\\\\\n") == len(summary)


@pytest.mark.parametrize("file", ["table/gate_matrix.md", "table/gate_matrix.tex", "table/gate_matrix.csv"])
def test_every_status_and_reason_is_in_every_text_of_the_table(made, file):
    text = (made / file).read_text(encoding="utf-8").replace("\\_", "_")
    for status in FAILED.values():
        assert "a sample of " + status in text and status.replace("_", " ") in text.replace("_", " ")
    assert FIRST in text and "no record yet" in text and "other sources" in text


def test_the_printed_table_has_verdict_error_and_tolerance(made):
    lines = (made / "table/gate_matrix.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    found = {tuple(row[:3]): dict(zip(rows[0], row, strict=True)) for row in rows[1:]}
    torch = found["torch", "eager", "mlp"]
    assert torch["equivalent"] == "yes" and torch["G2"] == "0.80" and torch["same bits"] == "yes"
    assert torch["closest"] == "G2 c1.weight" and (torch["error"], torch["allowed"]) == ("1.2e-5", "1.5e-5")
    assert found["mxnet", "eager", "mlp"]["equivalent"] == "NO" and found["mxnet", "eager", "mlp"]["error"] == "inf"
    assert found["jax", "eager", "mlp"]["equivalent"] == "stale"


@pytest.fixture
def page(gate):
    module = plugins.load("figure", "gate_matrix")
    with style.context():
        yield figures.page(module, module.rows(pd.read_parquet(gate)))


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def test_every_gate_cell_is_a_square_with_a_number_or_a_word(page, summary):
    seen = words(page)
    assert "worst error as a share of its tolerance" in seen and "above 1: not equivalent" in seen
    assert seen.count("0.80") == 3, "two equivalent cells, and the stale one"
    assert "∞" in seen and "1.1" in seen and "0.03" not in seen
    marks = " ".join(seen).replace("\n", " ")
    for status in (*FAILED.values(), "missing", "stale"):
        assert re.search(re.escape(status.replace("_", " ")) + r" \([a-z]\)", marks), status
    letters = {match for text in seen for match in re.findall(r"\(([a-z])\)$", text)}
    explained = {text[1] for text in seen if re.match(r"\([a-z]\) ", text)}
    assert letters == explained and len(letters) == len({cell["reason"] for cell in summary.values()} - {""})


def test_only_cells_beyond_their_tolerance_have_the_colour_of_failure(page, summary):
    module = plugins.load("figure", "gate_matrix")
    faces = [patch.get_facecolor() for patch in page.axes[0].patches]
    failed = sum(face == style.matplotlib.colors.to_rgba(module.FAILED) for face in faces)
    assert failed == 1 + sum(cell["verdict"] == "not equivalent" for cell in summary.values()), "and the legend's"


def test_no_text_is_cut_off_or_smaller_than_six_points(page):
    renderer = page.canvas.get_renderer()
    page.draw(renderer)
    width, height = page.bbox.size
    for text in page.axes[0].texts:
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width + 1 and box.y1 <= height + 1, text.get_text()
        assert text.get_fontsize() >= 6


@pytest.mark.parametrize("count", [1, 4, 25])
def test_words_stay_within_their_squares_however_many_networks_there_are(count, tmp_path):
    made = [
        samples.record(gate_cell("tensorflow", "network_{}".format(number)), status, checks=GOOD)
        for number in range(count)
        for status in ["out_of_memory" if number % 2 else "ok"]
    ]
    pairs = collect.read_all([samples.write(tmp_path, one) for one in made], [tmp_path])
    module = plugins.load("figure", "gate_matrix")
    with style.context():
        figure = figures.page(module, module.rows(gates.gate_table(pairs)))
        renderer = figure.canvas.get_renderer()
        figure.draw(renderer)
        squares = [p.get_window_extent(renderer) for p in figure.axes[0].patches if p.get_height() == module.ROW]
        texts = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    assert len(squares) == count
    for square in squares:
        inside = [box for box in texts if square.contains(*box.get_points().mean(axis=0))]
        assert len(inside) == 2 and all(box.x0 >= square.x0 and box.x1 <= square.x1 for box in inside)


def test_figure_has_a_caption_with_counts_versions_and_dates(made):
    text = (made / "figure/gate_matrix.md").read_text(encoding="utf-8")
    stated = json.loads((made / "figure/gate_matrix.json").read_text(encoding="utf-8"))["facts"]
    assert all("- {}: {}".format(name, value.rstrip(".")) in text and value for name, value in stated.items())
    assert "gate cells: 11: 2 equivalent, 2 not equivalent, 7 unverified" in text
    assert (
        "torch 2.13.0" in text and "Sample CPU, 2 cores" in text and "measured 2026-01-02" in text and "abc1234" in text
    )
    assert "3 of 3 cells give the same gradients bit by bit" in text and FIRST in text


def test_numbers_drawn_are_in_csv_and_json_alike(made, summary):
    rows = json.loads((made / "figure/gate_matrix.json").read_text(encoding="utf-8"))["rows"]
    table = pd.read_csv(made / "figure/gate_matrix.csv")
    assert len(rows) == len(table) == len(summary)
    assert [float(row["share"]) for row in rows if row["share"] is not None] == list(table["share"].dropna())


def test_another_process_draws_the_same_bytes(made, gate, tmp_path):
    environment = dict(os.environ, PYTHONPATH=str(catalogue.WORKFLOW), PYTHONHASHSEED="7", TZ="Asia/Tokyo")
    for kind, given in (
        ("table", []),
        ("figure", ["--records", gate.with_name("records.parquet"), "--commit", "abc1234"]),
    ):
        command = [
            sys.executable,
            "-m",
            "host.results.{}s".format(kind),
            "--name",
            "gate_matrix",
            "--out",
            tmp_path / kind,
        ]
        subprocess.run([*command, "--cells", gate.with_name("cells.parquet"), *given], env=environment, check=True)
    files = [path.relative_to(made) for path in sorted(made.rglob("*.*"))]
    assert len(files) == 4 + 6
    for file in files:
        assert (tmp_path / file).read_bytes() == (made / file).read_bytes(), file


def test_figure_is_a_column_or_a_page_wide_and_holds_no_date(made):
    content = (made / "figure/gate_matrix.pdf").read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", content)
    assert round(float(box.group(1)) / 72 * 25.4) in (88, 180)
    assert b"/FontFile2" in content and b"/Type3" not in content and b"CreationDate" not in content


def test_study_without_gate_cells_cannot_be_drawn_and_says_so(tmp_path):
    pairs = collect.read_all([samples.write(tmp_path, samples.record(samples.cell()))], [tmp_path])
    with pytest.raises(Mistake, match="gate_matrix: the study has no gate cell"):
        figures.write_page("gate_matrix", gates.gate_table(pairs), tmp_path)


def test_guide_of_gate_cells_alone_says_that_nothing_was_timed(tmp_path):
    expected = write_gates(tmp_path)
    cells = collect.collect([entry for entry in expected if entry["cell"]["mode"] == "gate"], [tmp_path])[1]
    text = guide.guide("equivalence", cells, {"tables": "results/tables"})
    assert "Nothing was timed" in text and "2 of 5 gate cells that ended ok agree" in text
    assert FIRST in text and "a sample of unsupported" in text and "`results/tables`" in text


# The study.


def test_the_equivalence_study_has_every_framework_network_and_execution():
    found = study.load("equivalence", HERE)
    assert {cell["mode"] for cell in found.cells} == {"gate"}
    frameworks = set(catalogue.frameworks()) - {"reference"}
    wanted = {
        (framework, network, execution)
        for framework in frameworks
        for network in catalogue.names("network")
        for execution in catalogue.adapter_literals(framework)["EXECUTIONS"]
    }
    cells = [(cell["framework"], cell["network"], cell["execution"]) for cell in found.cells]
    assert sorted(cells) == sorted(wanted) and len(frameworks) >= 3
    assert found.tables == found.figures == ("gate_matrix",)


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Return a function that loads a study of gate cells alone with some keys changed."""
    monkeypatch.setitem(catalogue.FOLDERS, "study", (tmp_path, ".yaml"))

    def load(**changes):
        content = {"title": "t", "question": "q?", "seed": 1, "gate": "only", "tables": ["gate_matrix"], "figures": []}
        content["cells"] = [{"framework": "torch", "network": ["mlp", "lenet5"]}]
        content.update(changes)
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
        return study.load("mine", HERE)

    return load


def test_gates_alone_need_neither_batch_repeats_nor_protocol(load):
    cells = load().cells
    assert [(cell["mode"], cell["batch"], cell["protocol"], cell["repeat"]) for cell in cells] == [
        ("gate", entries.GATE_BATCH, "gate", 1)
    ] * 2
    measured = yaml.safe_load((catalogue.ROOT / "config/studies/quick.yaml").read_text())
    same = load(protocol=measured["protocol"], cells=measured["cells"]).cells
    assert same == tuple(cell for cell in load(**measured).cells if cell["mode"] == "gate")


def test_all_is_every_name_that_there_is_for_the_hardware(load):
    cells = load(cells=[{"framework": "all", "network": "mlp", "hardware": "far-node"}]).cells
    assert [cell["framework"] for cell in cells] == catalogue.frameworks("cuda")
    cells = load(cells=[{"framework": ["torch", "reference"], "network": "mlp", "execution": "all"}]).cells
    assert [(cell["framework"], cell["execution"]) for cell in cells] == [
        *(("torch", execution) for execution in catalogue.adapter_literals("torch")["EXECUTIONS"]),
        ("reference", "eager"),
    ]


BAD = {
    "word that gate does not know": ({"gate": "onli"}, ["mine.yaml: gate", "'onli'", "must be true or false or only"]),
    "all of another axis": (
        {"cells": [{"framework": "torch", "network": "mlp", "precision": "all"}]},
        ["precision", "'all'"],
    ),
    "named and all": (
        {"cells": [{"framework": ["torch", "all"], "network": "mlp"}]},
        ["this cell is repeated", "torch mlp"],
    ),
    "measured without batch": ({"gate": True, "protocol": samples.PROTOCOL}, ["'batch' is missing"]),
    "measured without protocol": ({"gate": True}, ["'protocol' is missing"]),
    "table of gates without gates": (
        {"gate": False, "protocol": samples.PROTOCOL},
        ["gate_matrix", "`gate: false` makes none"],
    ),
    "table of measured cells": ({"tables": ["throughput"]}, ["'throughput'", "`gate: only` makes none"]),
}


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_named_with_what_is_right(load, case):
    changes, words = BAD[case]
    with pytest.raises(Mistake) as error:
        load(**changes)
    for word in words:
        assert word in str(error.value)
