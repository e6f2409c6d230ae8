"""How many samples a second does each cell get through? The median over repeats with its exact interval.

A row a cell, in the order of networks, modes and frameworks; none is ranked. `estimator` says which pass the number
comes from: `step` synchronises after every step, `block` once after many (taken where synchronising each step costs
more than 5 %, or a step is too short to be timed alone). Below five repeats no interval is given. A cell without a
number keeps its row: `status` counts how its repeats ended, `reason` says why.
"""

AXES = ("network", "mode", "framework", "execution", "hardware", "batch", "devices", "threads", "precision", "data")
AXES += ("feeding", "optimizer", "learning_rate", "momentum", "weight_decay", "protocol")
NUMBERS = ("samples_per_second", "samples_per_second_low", "samples_per_second_high", "interval_level", "estimator")
NUMBERS += ("step_seconds", "first_step_seconds", "n_ok", "n_expected")
HEADINGS = {
    "samples_per_second": "samples/s",
    "samples_per_second_low": "low",
    "samples_per_second_high": "high",
    "interval_level": "level",
    "n_ok": "n",
    "n_expected": "of",
    "estimator": "pass",
    "equivalence": "same computation",
}
ONLY_IN_FILES = (
    "step_seconds",
    "first_step_seconds",
    "flags",
)  # not printed: the table must fit a page; flags are notes


def table(cells):
    """Return the measured cells with axes, throughput (1/s), interval, step times (s), counts, status and reason.

    cells    DataFrame, a row a cell, as host.results.collect writes it; gate cells are left out: their verdict stands
             in `equivalence`
    returns  DataFrame, one row for every measured cell whatever became of it; `status` ok, or how many did not end ok
    """
    rows = cells[cells["mode"] != "gate"].sort_values(list(AXES), kind="stable")
    chosen = rows[list(AXES + NUMBERS)].copy()
    chosen["equivalence"] = rows["equivalence"].where(rows["n_ok"] > 0, "")
    chosen["status"] = rows["status_text"].where(rows["status_text"] != "", "ok")
    chosen["flags"] = rows["flags"]
    doubts = rows["equivalence"].where((rows["equivalence"] != "equivalent") & (rows["n_ok"] > 0), "")
    chosen["reason"] = [
        "; ".join(filter(None, [why, doubt and doubt + ": " + reason, flags and "doubtful: " + flags]))
        for why, doubt, reason, flags in zip(
            rows["reason"], doubts, rows["equivalence_reason"], rows["flags"], strict=True
        )
    ]
    return chosen.reset_index(drop=True)
