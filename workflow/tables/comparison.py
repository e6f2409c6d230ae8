"""Which of two frameworks takes longer for a step, and by how much? Every pair that may be compared, with its verdict.

A row a pair: the ratio of step times, first over second, over blocks in which both ended ok; the interval that decides
(t, or `order` statistics where the differences are skewed or the two disagree), and the verdict of the first against
the second. Margin 2 %; differences are corrected for the number of pairs of a family (Holm). `resolvable` is the ratio
that would have been found with 80 % probability. A cell that cannot be compared has a row of its own with the reason.
"""

import pandas as pd

from host.results.comparison import families
from host.results.comparison.families import FAMILY_AXES, NOT_COMPARED
from host.results.comparison.ratio import beyond_margin

ROWS = "pairs"  # not a row a cell
AXES = ("network", "mode", *(name for name in FAMILY_AXES if name not in ("network", "mode")))
OF_PAIR = ("ratio", "low", "high", "level", "blocks", "verdict", "resolvable", "marked", "exploratory", "ranked")
OF_PAIR += ("p", "p_holm", "pairs", "spread", "skewness", "t_low", "t_high", "order_low", "order_high", "order_level")
OF_PAIR += ("unpaired_low", "unpaired_high")
PRINTED = ("pair", "ratio", "low", "high", "interval", "blocks", "verdict", "standing", "resolvable", "reason")
CELLS = ("framework", "execution", "other_framework", "other_execution")
HEADINGS = {"blocks": "n"}
ONLY_IN_FILES = (*CELLS, *(name for name in OF_PAIR if name not in PRINTED))


def table(cells):
    """Return the pairs of compared cells and, below them, the cells that were not compared.

    cells    DataFrame, a row a cell, as host.results.collect writes it; gate cells are left out
    returns  DataFrame with the axes of the family; framework, execution, other_framework, other_execution (null for a
             cell that was not compared); ratio (first / second) with low, high and level; blocks; verdict; standing
             (claimed, exploratory, not compared); both intervals, p-values, resolvable ratio; reason
    """
    found = families.compare(cells)
    pairs = found.pairs.astype(object).to_dict("records")
    rows = [of_pair(pair, *(found.entries.loc[pair[side]] for side in ("first", "second"))) for pair in pairs]
    alone = found.entries[~found.entries.index.isin({*found.pairs["first"], *found.pairs["second"]})]
    rows += [of_cell(cell) for _, cell in alone.iterrows()]
    columns = [*AXES, "pair", *CELLS, "ratio", "low", "high", "interval", *OF_PAIR[3:], "standing", "reason"]
    return typed(pd.DataFrame(rows, columns=columns), found).sort_values(
        [*AXES, "standing", "pair"], kind="stable", ignore_index=True, key=compared_first
    )


def typed(rows, found):
    """Return the rows in types that do not depend on which cells could be compared."""
    kinds = {name: found.entries[name].dtype for name in AXES}
    kinds |= {name: found.pairs[name].dtype for name in OF_PAIR if found.pairs[name].dtype != bool}
    kinds |= dict.fromkeys(("marked", "exploratory", "ranked"), "boolean") | {"blocks": "Int64", "pairs": "Int64"}
    return rows.astype(kinds | dict.fromkeys(("pair", "interval", "standing", "reason", *CELLS, "verdict"), "str"))


def compared_first(column):
    """Return a column to sort by: what was not compared comes last."""
    return column == NOT_COMPARED if column.name == "standing" else column


def of_pair(pair, first, second):
    """Return the row of one pair."""
    row = {name: first[name] for name in AXES} | {name: pair[name] for name in OF_PAIR}
    row |= {"framework": first["framework"], "execution": first["execution"]}
    row |= {"other_framework": second["framework"], "other_execution": second["execution"]}
    row["pair"] = "{} / {}".format(label(first), label(second))
    row["interval"] = interval(pair)
    row["standing"] = "exploratory" if pair["exploratory"] else "claimed"
    doubtful = [label(cell) for cell in (first, second) if cell["flags"]]
    reasons = [pair["dropped"] and "dropped: " + pair["dropped"]]
    reasons += ["a claim needs 5 complete blocks" if pd.isna(pair["level"]) else ""]
    if pair["verdict"] == "unresolved" and beyond_margin(pair["low"], pair["high"]):
        reasons.append(
            "beyond the margin by itself, not as one of {} pairs (p = {:.2g})".format(pair["pairs"], pair["p_holm"])
        )
    reasons += ["the numbers of {} are doubtful".format(" and ".join(doubtful)) if doubtful else ""]
    return row | {"reason": "; ".join(filter(None, reasons))}


def interval(pair):
    """Return which interval decides, with its level."""
    if pd.isna(pair["level"]):
        return ""
    return "{} {:.4g} %".format("order" if pair["marked"] else "t", 100 * pair["level"])


def of_cell(cell):
    """Return the row of a cell that was not compared, or that has nothing beside it to be compared with."""
    row = {name: cell[name] for name in (*AXES, "framework", "execution")}
    why = cell["why"] if cell["standing"] == NOT_COMPARED else "no other cell to compare it with"
    row |= {"other_framework": "", "other_execution": "", "pair": label(cell), "interval": "", "verdict": ""}
    return row | {"standing": NOT_COMPARED, "reason": why}


def label(cell):
    """Return a cell within its family: framework and execution."""
    return " ".join(filter(None, (cell["framework"], cell["execution"])))
