"""Draw a figure as PDF, SVG and PNG at print size, with its caption and the numbers drawn.

    python -m host.results.figures --name NAME --records records.parquet --cells cells.parquet --out DIR [--commit TEXT]

The figure is a file of workflow/figures with `draw(table, axes)`, which draws one panel, and ESTIMATOR, what a mark is.
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
    table = repeat_table(records, cells)
    if table.empty:
        raise Mistake("figure {}: the study has no measured cell to draw".format(name))
    folder.mkdir(parents=True, exist_ok=True)
    with style.context():
        figure = compose(module, table)
        for kind, metadata in style.METADATA.items():
            figure.savefig(folder / "{}.{}".format(name, kind), metadata=metadata)
    stated = caption.facts(module, table, cells, name + ".csv", commit)
    (folder / (name + ".md")).write_text(caption.text(module, stated, name), encoding="utf-8")
    table.to_csv(folder / (name + ".csv"), index=False, lineterminator="\n")
    content = {"figure": name, "question": plugins.question(module), "facts": stated, "rows": caption.drawn_rows(table)}
    (folder / (name + ".json")).write_text(
        json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False, default=int) + "\n", encoding="utf-8"
    )


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
            axes.text(0.05, row, "not in the study", **text)


def main(arguments=None):
    """Draw one figure."""
    parser = argparse.ArgumentParser(prog="python -m host.results.figures", description=__doc__.splitlines()[0])
    parser.add_argument("--name", required=True)
    parser.add_argument("--records", required=True, type=Path, metavar="records.parquet")
    parser.add_argument("--cells", required=True, type=Path, metavar="cells.parquet")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR")
    parser.add_argument("--commit", help="what the caption calls the state of the sources")
    options = parser.parse_args(arguments)
    tables = pd.read_parquet(options.records), pd.read_parquet(options.cells)
    try:
        write(options.name, *tables, options.out, options.commit)
    except Mistake as wrong:
        sys.exit(str(wrong))


if __name__ == "__main__":
    main()
