"""Which framework computes the same as the reference, for which network, and how close does it come to its tolerance?

A row a framework and execution, a column a network. A square's number and colour are the worst error as a share of its
tolerance, over all checks and tensors, and below it stands the check that it is from; above 1 the cell is not
equivalent. A grey square has no verdict: its word says what became of it. Letters lead to the reasons below.
"""

import math
import textwrap

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.colors import to_hex, to_rgb
from matplotlib.patches import Rectangle

from host.results import gates
from host.results.panels import entries
from host.results.style import DOUBLE_COLUMN, MILLIMETRE, SINGLE_COLUMN
from host.results.words import EQUIVALENT, NOT_EQUIVALENT, UNVERIFIED

READS = "gate"
WIDTHS = [round(width / MILLIMETRE) for width in (SINGLE_COLUMN, DOUBLE_COLUMN)]  # millimetres, as all lengths here
ROW, TITLE, HEADER, BETWEEN, EDGE = 7.5, 4.5, 4.5, 3.0, 2.0
NARROWEST, WIDEST = 18.0, 30.0  # a square
LINE = 2.8  # from one line of text to the next, in labels and squares
LETTER = 1.3  # of a row's label
LEGEND, NOTE_LINE, NOTE_LETTER = 14.0, 2.6, 1.18
NOTE_LINES = 2  # of one reason; the caption has all of it
LOWEST = 1e-3  # shares below it have its colour
FAILED, NO_VERDICT = "#D55E00", "0.88"
COLOURS, PALEST = colormaps["Blues"], 0.08  # paler ones would be taken for paper
FIXED = ("framework", "network", "execution", "mode", "protocol", "data", "batch", "optimizer", "learning_rate")
FIXED += ("momentum", "weight_decay")  # a gate cell has its own


def rows(gate):
    """Return the summary of the gate cells with entry (label of its row), setting (what else varies) and letter."""
    table = gates.summary(gate)
    table["entry"] = entries(table)
    names = [name for name in ("hardware", "precision", "feeding", "devices", "threads") if table[name].nunique() > 1]
    parts = [name + " " + table[name].astype(str) for name in names]
    table["setting"] = [", ".join(values) for values in zip(*parts, strict=True)] if parts else ""
    reasons = reasons_of(table)
    table["letter"] = [letter(reasons.index(why)) if why else "" for why in table["reason"]]
    return table


def facts(table):
    """Return what the caption states."""
    return gates.facts(table)


def reasons_of(table):
    """Return the different reasons, in the order of the rows."""
    return [why for why in dict.fromkeys(table["reason"]) if why]


def letter(number):
    """Return a, b, ... z, aa, ab, ... for 0, 1, ..."""
    return (letter(number // 26 - 1) if number >= 26 else "") + chr(ord("a") + number % 26)


def blocks(table, width):
    """Return [(title, networks, entries, rows)]: a block a setting, more if its networks do not fit a page."""
    fitting = max(1, int((width - labels_width(table) - EDGE) // NARROWEST))
    found = []
    for setting, part in table.groupby("setting", sort=False):
        networks = sorted(set(part["network"]))
        count = math.ceil(len(networks) / math.ceil(len(networks) / fitting))  # as many in each block
        for start in range(0, len(networks), count):
            found.append((setting, networks[start : start + count], list(dict.fromkeys(part["entry"])), part))
    return found


def labels_width(table):
    """Return the width of the row labels."""
    return 3 + LETTER * max(len(line) for label in table["entry"] for line in label.splitlines())


def size(table):
    """Return (width, height): a column wide where the squares fit, else a page."""
    needed = labels_width(table) + NARROWEST * table["network"].nunique() + EDGE
    width = WIDTHS[0] if needed <= WIDTHS[0] else WIDTHS[1]
    height = sum(block_height(*block[:3]) for block in blocks(table, width)) + LEGEND
    return width, height + NOTE_LINE * len(notes(table, width)) + EDGE


def block_height(title, networks, lines):
    """Return the height of one block."""
    header = HEADER + LINE * any("_" in network for network in networks)
    return (TITLE if title else 0) + header + ROW * len(lines) + BETWEEN


def notes(table, width):
    """Return the lines below: each reason behind its letter, shortened where it is long."""
    lines = []
    for number, why in enumerate(reasons_of(table)):
        wrapped = textwrap.wrap("({}) {}".format(letter(number), why), int((width - 2 * EDGE) / NOTE_LETTER))
        if len(wrapped) > NOTE_LINES:
            wrapped = wrapped[:NOTE_LINES]
            wrapped[-1] = wrapped[-1][: -len(" ... (caption)")] + " ... (caption)"
        lines += wrapped
    return lines


def draw(table, axes):
    """Draw the page.

    table  what `rows` returned
    axes   matplotlib Axes of the page, in millimetres from its top left
    """
    width, _ = size(table)
    left = labels_width(table)
    top = 0.0
    found = blocks(table, width)
    square = min(WIDEST, (width - left - EDGE) / max(len(networks) for _, networks, _, _ in found))
    for title, networks, lines, part in found:
        if title:
            axes.text(left, top + TITLE, title, va="bottom", fontsize=7.5, fontweight="bold")
        below = top + block_height(title, networks, lines) - BETWEEN
        first = below - ROW * len(lines)
        for column, network in enumerate(networks):
            parts = network.replace("_", "_\n", 1).splitlines()
            write(axes, left + (column + 0.5) * square, first - 1.5 - LINE * (len(parts) - 1), parts, fontsize=7)
        for number, entry in enumerate(lines):
            y = first + number * ROW
            write(axes, left - 1.5, *centred(y, entry), ha="right", fontsize=7)
            cells = part[part["entry"] == entry]
            for column, network in enumerate(networks):
                found_here = cells[cells["network"] == network].to_dict("records")
                draw_square(axes, left + column * square, y, square, found_here[0] if found_here else None)
        top = below + BETWEEN
    draw_legend(axes, EDGE, top, min(60.0, width * 0.5))
    for number, line in enumerate(notes(table, width)):
        axes.text(EDGE, top + LEGEND + number * NOTE_LINE, line, fontsize=6, va="top")


def draw_square(axes, x, y, width, cell):
    """Draw one gate cell: its colour, and in it two lines of words; without a cell, that the study has none."""
    face, words = appearance(cell)
    edge = {"edgecolor": "white", "linewidth": 1.2}
    axes.add_patch(Rectangle((x, y), width, ROW, facecolor=face, **edge))
    dark = np.dot(to_rgb(face), (0.299, 0.587, 0.114)) < 0.48
    bold = "bold" if cell and cell["verdict"] == NOT_EQUIVALENT else "normal"
    write(axes, x + width / 2, *centred(y, words), color="white" if dark else "black", fontweight=bold)


def centred(y, words):
    """Return (baseline of the first line, the lines) of one or two lines of text in the row that begins at y."""
    lines = words.splitlines()
    return y + ROW / 2 + 0.9 - LINE / 2 * (len(lines) - 1), lines


def write(axes, x, y, lines, **style):
    """Write lines of text, the baseline of the first at y: one by one, so that no descender moves the others."""
    for number, line in enumerate(lines):
        axes.text(x, y + number * LINE, line, **{"ha": "center", "va": "baseline", "fontsize": 6.5, **style})


def appearance(cell):
    """Return (colour, words) of a square."""
    if cell is None:
        return "white", "not in\nthe study"
    number = gates.compact(cell["share"]).replace("inf", "∞")
    if cell["verdict"] == UNVERIFIED:
        word = "{} ({})".format(cell["mark"], cell["letter"])
        known = not pd.isna(cell["share"])
        return NO_VERDICT, "{}\n{}".format(word, number) if known else word.replace(" ", "\n", 1)
    words = "{}\n{}".format(number, cell["check"])
    if cell["verdict"] == EQUIVALENT:
        return colour(place(cell["share"])), words
    return FAILED, "{} ({})".format(words, cell["letter"])


def colour(share_of_scale):
    """Return the colour of a place on the scale, 0 to 1."""
    return to_hex(COLOURS(PALEST + (1 - PALEST) * share_of_scale))


def place(share):
    """Return where a share stands between LOWEST (0) and 1 (1), by its logarithm."""
    return min(1.0, max(0.0, 1 - math.log10(max(share, LOWEST)) / math.log10(LOWEST)))


def draw_legend(axes, x, top, length):
    """Draw the bar of colours with its scale, and what the other two colours mean."""
    bar, y = 2.6, top + 4.2
    axes.text(x, top + 3.2, "worst error as a share of its tolerance", fontsize=6.5, va="bottom")
    steps = 60
    for step in range(steps):
        shade = colour((step + 0.5) / steps)
        where = (x + length * step / steps, y)
        axes.add_patch(Rectangle(where, length / steps, bar, facecolor=shade, edgecolor=shade, linewidth=0.2))
    for share, text in ((1e-3, "≤ 0.001"), (1e-2, "0.01"), (1e-1, "0.1"), (1, "1")):
        at = x + length * place(share)
        axes.plot([at, at], [y + bar, y + bar + 0.7], color="black", linewidth=0.5)
        side = {1e-3: "left", 1: "right"}.get(share, "center")
        axes.text(at, y + bar + 1.2, text, ha=side, va="top", fontsize=6)
    for number, (face, text) in enumerate(((FAILED, "above 1: not equivalent"), (NO_VERDICT, "no verdict"))):
        line = y + number * 3.6 - 0.4
        axes.add_patch(Rectangle((x + length + 5, line), 5, 2.6, facecolor=face, edgecolor="none"))
        axes.text(x + length + 11.5, line + 1.3, text, va="center", fontsize=6.5)
