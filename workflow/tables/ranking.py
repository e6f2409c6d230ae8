"""Which framework is the fastest, and who ties with whom? Every cell with its class, letters and rank.

A row a cell, in families (everything but framework and execution is the same). Class 1 is the fastest and all that were
not declared slower; two cells share a letter where neither was declared slower than the other; the cells of a class
share the average of their ranks. `× fastest` is the ratio of step times to the fastest that is ranked, over the blocks
of both. Only equivalent cells over ten complete blocks are ranked, one execution of each framework, the declared one;
`standing` and the note say why others are not.
"""

from host.results.comparison import families
from host.results.comparison.families import FAMILY_AXES, RANKED

AXES = ("network", "mode", *(name for name in FAMILY_AXES if name not in ("network", "mode")))
OF_ENTRY = ("speed_class", "letters", "rank", "seconds", "estimator")
HEADINGS = {
    "speed_class": "class",
    "milliseconds": "ms a step",
    "ratio": "× fastest",
    "estimator": "pass",
    "n_ok": "n",
    "n_expected": "of",
}
ONLY_IN_FILES = ("seconds",)


def table(cells):
    """Return every measured cell with its place in its family, whatever became of it.

    cells    DataFrame, a row a cell, as host.results.collect writes it; gate cells are left out
    returns  DataFrame with the axes, framework, execution, speed_class, letters, rank (null where not ranked),
             milliseconds and seconds a step (by the family's pass: step or block), ratio with low and high (of step
             times to the leader of class 1; null without one), n_ok, n_expected, standing and reason
    """
    found = families.compare(cells)
    rows = found.entries.copy()
    rows["milliseconds"] = 1e3 * rows["seconds"]
    for name in ("ratio", "low", "high"):
        rows[name] = float("nan")
    for leader in families.leaders(found):
        for index, values in families.against(found, leader).items():
            rows.loc[index, ["ratio", "low", "high"]] = values
    rows["status"] = rows["status_text"].where(rows["status_text"] != "", "ok")
    rows["reason"] = rows["why"]
    rows["order"] = rows["seconds"].where(rows["standing"] == RANKED)  # what is not ranked stands in no order of speed
    order = [*AXES, "speed_class", "order", "framework", "execution"]
    columns = [*AXES, "framework", "execution", *OF_ENTRY, "milliseconds", "ratio", "low", "high"]
    columns += ["n_ok", "n_expected", "status", "standing", "reason"]
    return rows.sort_values(order, kind="stable", ignore_index=True)[columns]
