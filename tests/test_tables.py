"""Contract of every file in workflow/tables: four formats, every cell in each of them, the same bytes twice."""

import csv
import re

import pandas as pd
import pytest

import sample_records as samples
from host import catalogue
from host.results import plugins, tables
from host.results.words import advice

FORMATS = ("parquet", "csv", "md", "tex")
TABLES = [name for name in catalogue.names("table") if plugins.reads("table", name) == "cells"]
OF_PAIRS = [name for name in TABLES if getattr(plugins.load("table", name), "ROWS", "cells") == "pairs"]


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    return pd.read_parquet(samples.collected(tmp_path_factory.mktemp("study"))[1] / "cells.parquet")


@pytest.fixture(scope="module", params=TABLES)
def written(request, cells, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    tables.write(request.param, cells, folder)
    return request.param, folder


def test_there_is_a_table():
    assert TABLES


def test_docstring_asks_a_question(written):
    module = plugins.load("table", written[0])
    assert "?" in plugins.question(module) and module.table.__doc__


def test_every_measured_cell_is_a_row_of_every_format(written, cells):
    name, folder = written
    rows = pd.read_parquet(folder / (name + ".parquet"))
    measured = cells[cells["mode"] != "gate"]
    expected = len(rows) if name in OF_PAIRS else len(measured)
    assert len(rows) == expected
    here = {"network", "mode", "framework", "execution"}
    found = set(map(tuple, rows[sorted(here)].to_numpy()))
    if name in OF_PAIRS:  # a cell is the first or the second of a pair, or alone
        others = {"framework": "other_framework", "execution": "other_execution"}
        found |= set(map(tuple, rows[[others.get(axis, axis) for axis in sorted(here)]].to_numpy()))
    assert set(map(tuple, measured[sorted(here)].to_numpy())) <= found
    with open(folder / (name + ".csv"), newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == expected
    assert (folder / (name + ".md")).read_text().count("\n| ") == expected + 1  # and the heading
    body = (folder / (name + ".tex")).read_text().split("\\midrule")[1].split("\\bottomrule")[0]
    assert body.count("\\\\\n") == expected


@pytest.mark.parametrize("kind", ["csv", "md", "tex"])
def test_every_status_and_every_reason_is_in_every_text(written, kind):
    text = (written[1] / "{}.{}".format(written[0], kind)).read_text(encoding="utf-8").replace("\\_", "_")
    for status in (*samples.STATUSES, "missing"):
        assert status.replace("_", " ") in text
    for status in samples.STATUSES:
        assert "a sample of " + status in text
    assert re.search(r"not equivalent: [^\n]*G2 f1\.weight", text) and "unverified: the study has no gate cell" in text
    assert "hardware elsewhere" in text and "is not JSON" in text


def test_same_cells_give_the_same_bytes(written, cells, tmp_path):
    name, folder = written
    tables.write(name, cells, tmp_path)
    for kind in FORMATS:
        file = "{}.{}".format(name, kind)
        assert (tmp_path / file).read_bytes() == (folder / file).read_bytes(), kind


def test_exploratory_tables_say_so(written):
    for kind in ("md", "tex"):
        assert "Exploratory: no ranking is claimed." in (written[1] / "{}.{}".format(written[0], kind)).read_text()


def test_table_can_be_drawn_where_nothing_ended_ok(written, cells, tmp_path):
    tables.write(written[0], cells[cells["n_ok"] == 0], tmp_path)
    assert (tmp_path / (written[0] + ".md")).read_text().count("\n| ") == (cells["n_ok"] == 0).sum() + 1


def test_types_of_columns_do_not_depend_on_which_cells_ended_ok(written, cells, tmp_path):
    tables.write(written[0], cells[cells["n_ok"] == 0], tmp_path)
    kinds = [dict(pd.read_parquet(folder / (written[0] + ".parquet")).dtypes) for folder in (written[1], tmp_path)]
    assert kinds[0] == kinds[1]


def test_latex_holds_no_character_that_latex_would_take_for_its_own(written, cells, tmp_path):
    bad = cells.copy()
    bad["reason"] = r"50% of $HOME & #1 {a_b} ^~\ "
    tables.write(written[0], bad, tmp_path)
    text = (tmp_path / (written[0] + ".tex")).read_text()
    note = next(line for line in text.splitlines() if "smallskip" in line).split("raggedright", 1)[1]
    assert r"50\% of \$HOME \& \#1 \{a\_b\} \textasciicircum{}\textasciitilde{}\textbackslash{}" in note
    assert not re.search(r"(?<!\\)[%$&#_]", note)


def test_pipe_in_a_text_does_not_break_the_markdown_table(cells, tmp_path):
    bad = cells.copy()
    bad["framework"] = "a|b"
    tables.write("throughput", bad, tmp_path)
    rows = [line for line in (tmp_path / "throughput.md").read_text().splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234.5678, "1235"),
        (12.0, "12.00"),
        (0.012345, "0.01235"),
        (9.99999, "10.00"),
        (-3.14159, "-3.142"),
        (0.5, "0.5"),
        (1e9, "1e+09"),
    ],
)
def test_four_digits_are_printed(value, text):
    assert tables.digits(value) == text


def test_nothing_is_ranked_in_an_exploratory_study(written):
    rows = pd.read_parquet(written[1] / (written[0] + ".parquet"))
    for name in set(rows) & {"rank", "ranked", "speed_class", "letters", "ratio_to_fastest"}:
        assert not [value for value in rows[name] if pd.notna(value) and value], name


def test_unknown_table_is_answered_with_the_right_name(cells, tmp_path):
    with pytest.raises(catalogue.Mistake, match="Did you mean 'throughput'"):
        tables.write("thruput", cells, tmp_path)


def test_every_status_has_an_advice():
    answers = {status: advice(status) for status in (*samples.STATUSES, "missing", "damaged")}
    assert all(answers.values()) and advice("of tomorrow") not in answers.values()
