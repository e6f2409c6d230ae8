"""Draw a figure as PDF, SVG and PNG at print size, with its caption and the numbers drawn.

    python -m host.results.figures --name NAME --records records.parquet --cells cells.parquet --out DIR [--commit TEXT]

The figure is a file of workflow/figures with `draw(table, axes)`, which draws one panel, and ESTIMATOR, what a mark is.
It draws repeats, unless it has `rows(records, cells)`, which returns rows of its own with network and setting (they
make the panel), entry (label of the line), note and exploratory; ABSENT then says what a line without row means, and
`facts(rows)` what its caption states besides. With READS = "gate" it draws gate.parquet, which lies beside the cells,
as a whole: `rows(gate)` are its rows, `size(rows)` its width and height, and `draw(rows, axes)` fills the page.
Beside NAME.pdf, .svg and .png stand NAME.md (caption), NAME.csv and NAME.json (numbers drawn). The same tables give the
same bytes.
"""

import argparse
import json
import sys
from pathlib import Path

import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from host.catalogue import Mistake
from host.results import caption, plugins, style
from host.results.panels import repeat_table

COLUMNS = 2
TITLE, BELOW, BETWEEN, FOOT = 6.0, 10.5, 3.0, 3.5  # millimetres: title, ticks and label, space to the next, last line
LETTER, SMALL_LETTER = 1.3, 1.12  # millimetres a letter of a row's label, and of the note beside it


def write(name, records, cells, folder, commit=None):
    """Write the figure, its caption and its numbers into the folder."""
    module = plugins.load("figure", name)
    table = rows(module, records, cells)
    if table.empty:
        raise Mistake("figure {}: the study has no measured cell to draw".format(name))
    stated = caption.facts(module, repeat_table(records, cells), cells, name + ".csv", commit, table)
    save(name, module, compose, table, stated, folder)


def write_page(name, source, folder, commit=None):
    """Write a figure that draws one table as a whole, its caption and its numbers into the folder."""
    module = plugins.load("figure", name)
    table = module.rows(source)
    if table.empty:
        raise Mistake("figure {}: the study has no gate cell to draw".format(name))
    stated = {**module.facts(table), "numbers": caption.numbers(name + ".csv", commit)}
    save(name, module, page, table, stated, folder)


def save(name, module, draw, table, stated, folder):
    """Draw the figure with draw(module, table) and write it, its caption and its numbers into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with style.context():
        figure = draw(module, table)
        for kind, metadata in style.METADATA.items():
            figure.savefig(folder / "{}.{}".format(name, kind), metadata=metadata)
    (folder / (name + ".md")).write_text(caption.text(module, stated, name), encoding="utf-8")
    table.to_csv(folder / (name + ".csv"), index=False, lineterminator="\n")
    content = {"figure": name, "question": plugins.question(module), "facts": stated, "rows": caption.drawn_rows(table)}
    (folder / (name + ".json")).write_text(
        json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False, default=int) + "\n", encoding="utf-8"
    )


def rows(module, records, cells):
    """Return what a figure draws: its own rows if it makes some, else a row a repeat."""
    return module.rows(records, cells) if hasattr(module, "rows") else repeat_table(records, cells)


def page(module, table):
    """Return the Figure of a plug-in that draws its table as a whole: one Axes that is the page, in millimetres.

    x runs from the left edge, y from the top; the plug-in's size(table) gives width and height.
    """
    width, height = module.size(table)
    figure = Figure(figsize=(width * style.MILLIMETRE, height * style.MILLIMETRE))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    module.draw(table, axes)
    return figure


def compose(module, table):
    """Return the Figure: panels in a grid, networks across and settings down, rows of frameworks in one order.

    The order is alphabetical, so that it says nothing about speed. A panel is as high as it has rows; one panel is a
    journal column wide, more are a page wide.
    """
    grid = [line for setting in table["setting"].drop_duplicates() for line in lines_of(table, setting)]
    columns = max(len(line) for line in grid)
    width = style.SINGLE_COLUMN if columns == 1 else style.DOUBLE_COLUMN
    row = module.ROW_MILLIMETRES * style.MILLIMETRE
    left = (6 + LETTER * longest(table["entry"])) * style.MILLIMETRE
    note = (4.5 + SMALL_LETTER * longest(table["note"])) * style.MILLIMETRE
    gap = BETWEEN * style.MILLIMETRE
    panel = (width - left - columns * note - (columns - 1) * gap) / columns
    entries = [sorted({entry for _, _, part in line for entry in part["entry"]}) for line in grid]
    above, below = TITLE * style.MILLIMETRE, BELOW * style.MILLIMETRE
    height = sum(len(labels) * row + above + below for labels in entries)
    height += FOOT * style.MILLIMETRE
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    top = height
    for line, labels in zip(grid, entries, strict=True):
        bottom = top - above - len(labels) * row
        for place, (network, setting, part) in enumerate(line):
            x = left + place * (panel + note + gap)
            axes = figure.add_axes((x / width, bottom / height, panel / width, len(labels) * row / height))
            draw_panel(module, axes, part, labels, "{}, {}".format(network or "unknown network", setting), place == 0)
        top = bottom - below
    if table["exploratory"].any():
        at = {"ha": "right", "va": "bottom", "fontsize": 6, "color": "0.35"}
        figure.text(1 - 0.02, 1 * style.MILLIMETRE / height, "exploratory: no ranking is claimed", **at)
    return figure


def lines_of(table, setting):
    """Return the panels of one setting, at most two a line: lists of (network, setting, rows of the table)."""
    of_setting = table[table["setting"] == setting]
    panels = [(network, setting, part) for network, part in of_setting.groupby("network", sort=True)]
    return [panels[start : start + COLUMNS] for start in range(0, len(panels), COLUMNS)]


def longest(labels):
    """Return the number of letters in the longest line of the labels."""
    return max(len(line) for label in set(labels) for line in label.splitlines() or [""])


def draw_panel(module, axes, part, labels, title, with_labels):
    """Draw one panel with its rows, labels, title, and a word where a framework has no cell in it."""
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), labels if with_labels else [""] * len(labels))
    axes.tick_params(axis="y", length=0, pad=5)  # room for the cross at the axis
    axes.grid(axis="x", color="0.9", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_title(title, loc="left", fontweight="bold", pad=4)
    module.draw(part.assign(row=part["entry"].map(labels.index)), axes)
    for row, label in enumerate(labels):
        if label not in set(part["entry"]):
            text = {"va": "center", "fontsize": 6, "color": "0.4", "transform": axes.get_yaxis_transform()}
            axes.text(0.05, row, getattr(module, "ABSENT", "not in the study"), **text)


def main(arguments=None):
    """Draw one figure."""
    parser = argparse.ArgumentParser(prog="python -m host.results.figures", description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--records", required=True, type=Path, metavar="records.parquet")
    parser.add_argument("--cells", required=True, type=Path, metavar="cells.parquet")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.add_argument("--commit", help="what the caption calls the state of the sources")
    options = parser.parse_args(arguments)
    try:
        source = plugins.reads("figure", options.name)
        if source == "cells":
            tables = pd.read_parquet(options.records), pd.read_parquet(options.cells)
            write(options.name, *tables, options.out, options.commit)
        else:
            table = pd.read_parquet(options.cells.with_name(source + ".parquet"))
            write_page(options.name, table, options.out, options.commit)
    except Mistake as wrong:
        sys.exit(str(wrong))


if __name__ == "__main__":
    main()
