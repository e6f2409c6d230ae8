"""Which of two frameworks takes longer for a step? The ratio of step times of every pair: a panel a family.

A mark is the ratio, first over second, over the blocks in which both ended ok; left of 1 the first is faster. The line
is the interval that decides: filled marks t at 95 %, hollow marks order statistics (the differences are skewed, or the
two intervals disagree). The grey band is the margin of 2 % within which two count as equal. Beside it the number of
complete blocks and the verdict, corrected for the number of pairs of the family (Holm). Cells that are not compared say
why. The axis is logarithmic: a ratio and its inverse are as far from 1.
"""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.ticker import NullFormatter, NullLocator

from host.results import panels
from host.results.comparison import families
from host.results.comparison.families import NO_CLAIM, NOT_COMPARED
from host.results.comparison.ratio import MARGIN

ESTIMATOR = "a mark is the ratio of two cells' step times over complete blocks: geometric mean or, hollow, median"
ROW_MILLIMETRES = 8.0  # a pair
ABSENT = ""  # the pair is of another panel of the line
WIDEST = 1.1  # the axis shows at least this ratio on either side of 1
ABOVE = (1.02, 1.05, 1.1, 1.2, 1.3, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)
BELOW = (0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001)
NOTE_CHARACTERS = 26


def rows(records, cells):
    """Return a row a pair and a row a cell without pair: network and setting (panel), entry (label), note, numbers."""
    found = families.compare(cells)
    entries = found.entries.assign(setting=panels.settings(found.entries))
    several = entries.groupby("framework")["execution"].transform("nunique") > 1
    entries["label"] = entries["framework"] + (" " + entries["execution"]).where(several, "")
    made = [pair_row(pair, entries) for pair in found.pairs.to_dict("records")]
    alone = entries[~entries.index.isin({*found.pairs["first"], *found.pairs["second"]})]
    made += [cell_row(cell) for cell in alone.to_dict("records")]
    columns = ["mode", "network", "setting", "entry", "note", "text", "exploratory", "family", "resolvable"]
    columns += ["ratio", "low", "high", "level", "marked", "blocks", "verdict", "dropped", "p_holm", "pairs"]
    order = ["mode", "setting", "network", "entry"]
    table = pd.DataFrame(made, columns=columns).convert_dtypes()
    ascending = [False, True, True, True]
    return table.sort_values(order, ascending=ascending, kind="stable", key=panels.in_order, ignore_index=True)


def pair_row(pair, entries):
    """Return the row of one pair."""
    first, second = entries.loc[pair["first"]], entries.loc[pair["second"]]
    row = {name: first[name] for name in ("mode", "network", "setting", "family")} | pair
    doubtful = " †" if first["flags"] or second["flags"] else ""
    row["note"] = "n = {}{}\n{}".format(pair["blocks"], doubtful, in_words(pair, first["label"], second["label"]))
    return row | {"entry": "{}\n÷ {}".format(first["label"], second["label"]), "text": ""}


def in_words(pair, first, second):
    """Return the verdict as a reader says it: who is faster."""
    if pair["verdict"] in ("faster", "slower"):
        return "{} faster".format(first if pair["verdict"] == "faster" else second)
    return "too few blocks" if pair["verdict"] == NO_CLAIM else pair["verdict"]


def cell_row(cell):
    """Return the row of a cell that is in no pair."""
    row = {name: cell[name] for name in ("mode", "network", "setting", "family", "exploratory")}
    why = cell["why"] if cell["standing"] == NOT_COMPARED else "no other cell to compare it with"
    text = cell["status_text"] or why.split(":")[0]
    return row | {
        "entry": cell["label"],
        "note": "\n".join(textwrap.wrap(text, NOTE_CHARACTERS)[:3]),
        "text": "not compared",
    }


def facts(drawn):
    """Return what the caption states of these rows: families, interval, resolvable differences, what is claimed."""
    judged = drawn[drawn["level"].notna()]
    levels = sorted(
        "{}{:.4g} % (n = {})".format("order statistics " if marked else "t ", 100 * level, blocks)
        for marked, level, blocks in set(zip(judged["marked"], judged["level"], judged["blocks"], strict=True))
    )
    resolvable = [
        "{}, {}: {}".format(network, setting, span(part["resolvable"]))
        for (network, setting), part in judged.groupby(["network", "setting"])
    ]
    claimed = judged[~judged["exploratory"].astype(bool)]
    verdicts = "{} of {} pairs over ten or more blocks, in {} families".format(
        len(claimed), drawn["blocks"].notna().sum(), claimed["family"].nunique()
    )
    return {
        "interval": ", ".join(levels) or "none: no pair has five complete blocks",
        "families": str(drawn["family"].nunique()),
        "resolvable with 80 % probability": "; ".join(resolvable) or "nothing: no pair has five complete blocks",
        "claim": "verdicts of " + verdicts if len(claimed) else "exploratory: no ranking is claimed",
    }


def span(ratios):
    """Return the smallest and the largest of ratios as text: `a ratio of 1.03 to 1.08`."""
    low, high = ("{:.2f}".format(ratio) for ratio in (min(ratios), max(ratios)))
    return "a ratio of " + (low if low == high else "{} to {}".format(low, high))


def draw(table, axes):
    """Draw one panel.

    table  a row a pair or a cell without pair, with row (place from the top), ratio, low and high (null without),
           marked, note (text beside the row) and text (in the row of a cell without pair)
    axes   matplotlib Axes, whose rows run from 0 at the top
    """
    numbers = table[["ratio", "low", "high"]].astype("float64").to_numpy().ravel()
    numbers = numbers[np.isfinite(numbers)]
    axes.set_xscale("log")
    widest = max([WIDEST, *numbers, *(1 / numbers)]) ** 1.08
    axes.set_xlim(1 / widest, widest)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    places = ticks(widest)
    axes.set_xticks(places, ["{:g}".format(place) for place in places])
    axes.fill_betweenx(axes.get_ylim(), 1 / (1 + MARGIN), 1 + MARGIN, color="0.88", linewidth=0, zorder=0)
    axes.axvline(1, color="0.5", linewidth=0.6, zorder=1)
    beside = axes.get_yaxis_transform()  # across in shares of the panel, down in rows
    for row in table.to_dict("records"):
        if not pd.isna(row["ratio"]):
            draw_pair(axes, row)
        if row["text"]:
            axes.text(0.05, row["row"], row["text"], transform=beside, va="center", fontsize=6.5, style="italic")
        axes.text(1.03, row["row"], row["note"], transform=beside, va="center", fontsize=6, linespacing=1.15)
    axes.set_xlabel("time per step, first ÷ second (ratio)")


def ticks(widest):
    """Return round ratios from 1 / widest to widest, on either side of 1, with room for their labels."""
    chosen = [1.0]
    for side in (ABOVE, BELOW):
        last = 0.0
        for place in side:
            distance = abs(np.log(place)) / np.log(widest)
            if 0.25 + last <= distance <= 1:
                chosen.append(place)
                last = distance
    return sorted(chosen)


def draw_pair(axes, row):
    """Draw ratio and interval: filled where t decides, hollow where order statistics do, a cross without interval."""
    known = not pd.isna(row["level"])
    if known:
        axes.plot([row["low"], row["high"]], [row["row"]] * 2, "|-", color="black", linewidth=1.0, markersize=4)
    face = "white" if row["marked"] else "black"
    style = {"marker": "o" if known else "x", "markersize": 3.2, "markerfacecolor": face, "color": "black", "zorder": 5}
    axes.plot([row["ratio"]], [row["row"]], markeredgewidth=0.8, linestyle="", **style)
