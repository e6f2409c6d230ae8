"""The table that figures draw: a row a repeat with its cell's numbers, its panel, its row, and the words beside it."""

import json
import re
import textwrap

import pandas as pd

from host.catalogue import adapter_name
from host.planning import axes
from host.results.derive import CELL_AXES
from host.results.words import EQUIVALENT, readable

NOTE_CHARACTERS, NOTE_LINES = 25, 3
MODES = {"train": "training", "infer": "inference", "": "mode unknown"}
OF_CELL = ["status", "status_text", "n_ok", "n_expected", "step_seconds_low", "step_seconds_high", "interval_level"]
OF_CELL += ["block_step_seconds", "pipelining", "samples_per_second", "equivalence", "equivalence_reason", "flags"]
OF_REPEAT = ["path", "repeat", "attempt", "status", "reason", "superseded", "step_seconds", "exploratory", "versions"]
OF_REPEAT += ["first_step_seconds", "cores_busy", "memory_bytes_rss_peak", "warmup_class"]


def repeat_table(records, cells):
    """Return what a figure draws: a row a repeat that counts (no superseded attempt), gate cells left out.

    records, cells  DataFrames that host.results.collect wrote
    returns  DataFrame with the axes; repeat, status, reason, path, step_seconds, first_step_seconds, cores_busy,
             memory_bytes_rss_peak and warmup_class of the repeat; status, counts, median
             (cell_step_seconds), interval and verdict of its cell; entry (label of its row), network and
             setting (they make the panel), note and ended (texts)
    """
    chosen = records[(records["mode"] != "gate") & ~records["superseded"]]
    left = chosen[CELL_AXES + OF_REPEAT].assign(key=keys(chosen))
    right = (
        cells[OF_CELL]
        .rename(columns={"status": "cell_status"})
        .assign(key=keys(cells), cell_step_seconds=cells["step_seconds"])
    )
    table = left.merge(right, on="key", how="left", validate="many_to_one").drop(columns="key")
    table["entry"] = entries(table)
    table["setting"] = settings(table)
    table["note"] = [note(row) for row in table.to_dict("records")]
    table["ended"] = table["status_text"].where(table["n_expected"] != 1, table["status"].map(readable))
    order = ["mode", "setting", "network", "entry", "repeat", "path"]
    ascending = [False] + [True] * 5
    return table.sort_values(order, ascending=ascending, kind="stable", key=in_order).reset_index(drop=True)


def in_order(column):
    """Return a column to sort by: numbers within texts as numbers, so that batch 32 comes before batch 128."""
    if column.name != "setting":
        return column
    return column.map(lambda text: re.sub(r"\d+", lambda digits: digits.group().zfill(12), text))


def keys(frame):
    """Return one text a row that identifies its cell; a file of which nothing is known is a cell of its own."""
    texts = frame[CELL_AXES].astype("object").map(lambda value: "" if pd.isna(value) else repr(value))
    return texts.agg("\0".join, axis=1).where(frame["mode"] != "", frame["path"])


def entries(table):
    """Return the label of each row of a figure: framework and version, and the execution where more than one occurs."""
    pairs = zip(table["framework"], table["versions"], strict=True)
    table = table.assign(version=[framework_version(*pair) or "" for pair in pairs])
    known = table[table["version"] != ""].groupby("framework")["version"].unique()
    versions = {framework: found[0] for framework, found in known.items() if len(found) == 1}
    labels = table["framework"].map(lambda name: "{} {}".format(name, versions.get(name, "")).strip())
    several = table.loc[table["execution"] != "", "execution"].nunique() > 1
    return labels + "\n" + table["execution"] if several else labels


def framework_version(framework, stated):
    """Return a framework's version from a record's `versions` (JSON text), None where it is not there."""
    known = json.loads(stated) if stated else {}
    name = adapter_name(framework)
    return known.get(name) or (known.get("distributions") or {}).get(name)


def settings(table):
    """Return the words that tell a panel from the others of its network: the mode and every other axis that varies."""
    fixed = {"framework", "network", "execution", "mode", "protocol"}
    varying = [
        name
        for name in CELL_AXES
        if name not in fixed and (table[table["mode"] != ""].groupby("network")[name].nunique(dropna=False) > 1).any()
    ]
    texts = table["mode"].map(lambda mode: MODES.get(mode, mode))
    for name in varying:
        texts = texts + ", " + name.replace("_", " ") + " " + table[name].astype("object").map(str)
    return texts


def names(table):
    """Return each cell's name: framework, execution, network, mode, batch, and every other axis that differs.

    An axis is named where cells of the same network have several values of it, gate cells and measured ones apart
    (gate cells have a protocol and a batch of their own).
    """
    always = ["framework", "execution", "network", "mode", "batch"]
    others = [name for name in CELL_AXES if name not in always]
    group = [table["network"], table["mode"] == "gate"]
    known = table["mode"] != ""  # of a file that nobody can read no axis is known
    varies = {name: known & (table[name].groupby(group).transform("nunique", dropna=False) > 1) for name in others}
    texts = []
    for place, row in enumerate(table[CELL_AXES].astype("object").to_dict("records")):
        parts = [row[name] for name in always if name != "batch"]
        parts += ["batch {}".format(row["batch"])] if not pd.isna(row["batch"]) else []
        parts += [
            "{} {}".format(name.replace("_", " "), axes.format_value(row[name]))
            for name in others
            if varies[name].iloc[place]
        ]
        texts.append(" ".join(part for part in parts if part))
    return pd.Series(texts, index=table.index, dtype="object")


def note(row):
    """Return the words beside a cell's row: n, what is not equivalent or not known to be, how other repeats ended."""
    if not row["n_ok"]:
        return "n = 0 of {}".format(row["n_expected"])
    count = "n = {}".format(row["n_ok"])
    count += " of {}".format(row["n_expected"]) if row["n_ok"] < row["n_expected"] else ""
    parts = [count + (" †" if row["flags"] else "")]
    if row["equivalence"] != EQUIVALENT:
        parts.append(row["equivalence"])
    lines = ["; ".join(parts)] + textwrap.wrap(row["status_text"], NOTE_CHARACTERS)
    return "\n".join(lines if len(lines) <= NOTE_LINES else lines[: NOTE_LINES - 1] + ["and more: see caption"])
