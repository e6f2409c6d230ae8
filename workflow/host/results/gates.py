"""What the gate found, line by line and cell by cell: gate.parquet, and the summary that its table and figure show.

A *share* is error / tolerance: above 1 a check is failed. A gate cell's verdict is derived as that of a measured cell is,
from its record and the present sources.
"""

import math
from datetime import datetime

import numpy as np
import pandas as pd

from host.gate import locate
from host.results import caption
from host.results.derive import CELL_AXES, as_frame
from host.results.words import EQUIVALENT, NOT_EQUIVALENT, UNVERIFIED, listed, readable

CHECKS = ("G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "precision")
OF_CELL = [*CELL_AXES, "repeat", "attempt", "path", "status", "stale", "exploratory", "verdict", "reason", "first"]
OF_CELL += ["fit", "seconds", "versions", "machine", "started_utc", "ended_utc"]
LINE_NUMBERS = ["error", "tolerance", "noise", "share"]
OF_CHECK = "share_"  # how the column of a check's share begins: a check and an axis are both called precision
SAME_BITS = "every gradient"  # how the tensor of a G8 line begins where nothing differed
SHOWN = 0.001  # shares below it get a power of ten


def gate_table(pairs):
    """Return gate.parquet: a row a comparison line of every gate cell that counts, one row where nothing was compared.

    pairs    list of (row of host.results.derive with its verdict, record or None) of all cells of the study
    returns  DataFrame with the cell's axes, path, status, stale; verdict (equivalent, not equivalent, unverified) and
             reason, if it is another than equivalent; first (where the disagreement begins); fit (null without a
             record); seconds of the gate cell; check, tensor, error, tolerance, noise (null where there is none) and
             share. An error that is no finite number is inf; check is "" and the numbers are null where nothing was
             compared.
    """
    rows = []
    for row, record in pairs:
        if row["mode"] == "gate" and not row["superseded"]:
            cell = of_cell(row, record)
            checks = record["gate"]["checks"] if record and row["status"] == "ok" else []
            rows += [cell | of_line(line) for line in checks] or [cell | of_line(None)]
    columns = [*OF_CELL, "check", "tensor", *LINE_NUMBERS]
    frame = as_frame(rows) if rows else as_frame([dict.fromkeys(columns)])[:0]
    kinds = dict.fromkeys(["verdict", "first", "check", "tensor"], "str")
    kinds |= dict.fromkeys(["seconds", *LINE_NUMBERS], "float64") | {"fit": "boolean"}
    return frame[columns].astype(kinds)


def of_cell(row, record):
    """Return what the gate cell's row and record say of all its lines."""
    cell = {name: row[name] for name in OF_CELL if name in row}
    cell |= {"verdict": row["equivalence"], "first": "", "fit": None}
    cell["seconds"] = duration(row["started_utc"], row["ended_utc"])
    if row["status"] != "ok":
        return cell | {"reason": row["reason"] or "no reason given"}
    place = locate.first(record["gate"])
    fit = (record["gate"].get("start") or {}).get("fit")
    return cell | {"reason": row["equivalence_reason"], "first": locate.text(place) if place else "", "fit": fit}


def of_line(line):
    """Return the columns of one comparison line of a record; without one, no check and no numbers."""
    if line is None:
        return {"check": "", "tensor": ""} | dict.fromkeys(LINE_NUMBERS, math.nan)
    error = float(line["error"]) if line["error"] is not None else math.inf
    noise = math.nan if line.get("noise") is None else line["noise"]
    numbers = {"error": error if math.isfinite(error) else math.inf, "tolerance": line["tolerance"], "noise": noise}
    return {"check": line["check"], "tensor": line["tensor"]} | numbers | {"share": locate.excess(line)}


def duration(start, end):
    """Return the seconds between two times of a record (ISO 8601), NaN where one is not known."""
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds() if start and end else math.nan


def summary(gate):
    """Return a row a gate cell: what gate.parquet says of the cell, the share of every check, and its closest line.

    gate     DataFrame of gate_table
    returns  DataFrame with OF_CELL; share, check, tensor, error, tolerance of the line that comes closest to its
             tolerance or exceeds it most; share_G1 ... share_G8 and share_precision, the largest share of each check,
             null where it was not compared; same_bits (null where no step was run twice); mark, one word for a cell that is not equivalent
    """
    rows = [of_lines(lines) for _, lines in gate.groupby("path", sort=False)]
    names = [OF_CHECK + check for check in [*CHECKS, *sorted(set(gate["check"]) - {"", *CHECKS})]]
    closest = ["share", "check", "tensor", "error", "tolerance"]
    frame = pd.DataFrame(rows, columns=[*OF_CELL, *closest, *names, "same_bits", "mark"])
    kinds = {name: gate[name].dtype for name in [*OF_CELL, *closest]}
    kinds |= dict.fromkeys(names, "float64") | {"same_bits": "boolean", "mark": "str"}
    order = ["hardware", "precision", "feeding", "devices", "threads", "framework", "execution", "network", "path"]
    return frame.astype(kinds).sort_values(order, kind="stable", ignore_index=True)


def of_lines(lines):
    """Return the summary's row of one gate cell."""
    compared = lines[lines["check"] != ""]
    worst = (compared if len(compared) else lines).sort_values("share", ascending=False, kind="stable").iloc[0]
    row = worst[[*OF_CELL, "share", "check", "tensor", "error", "tolerance"]].to_dict()
    row |= {OF_CHECK + check: share for check, share in compared.groupby("check")["share"].max().items()}
    twice = compared[compared["check"] == "G8"]
    row["same_bits"] = bool(twice["tensor"].str.startswith(SAME_BITS).all()) if len(twice) else None
    return row | {"mark": mark(row)}


def mark(row):
    """Return one word for what a gate cell became, "" for an equivalent one."""
    if row["status"] != "ok":
        return readable(row["status"])
    return "stale" if row["stale"] else "" if row["verdict"] == EQUIVALENT else row["verdict"]


def compact(share):
    """Return a share for a reader: two digits, never rounded down to 1; a dash where nothing was compared."""
    if pd.isna(share):
        return "–"
    if not math.isfinite(share):
        return "inf"
    if share > 1:
        share = math.ceil(10 * share) / 10
        return "{:.1f}".format(share) if share < 10 else scientific(share) if share >= 1000 else str(math.ceil(share))
    if share >= 0.01:
        return "{:.2f}".format(share)
    return "{:.3f}".format(share) if share >= SHOWN else scientific(share) if share else "0"


def scientific(number, decimals=0):
    """Return a number with a short exponent: 3e-5."""
    if pd.isna(number) or not math.isfinite(number):
        return "–" if pd.isna(number) else "inf"
    digits, exponent = "{:.{}e}".format(number, decimals).split("e")
    return "{}e{}".format(digits, int(exponent)) if number else "0"


def named(row):
    """Return a gate cell as a reader names it: framework, execution, network."""
    return "{framework} {execution} {network}".format(**row)


def facts(rows):
    """Return {what: text} of everything that a caption of the gate's result states; no value is empty.

    rows  DataFrame of summary
    """
    found = {kind: rows[rows["verdict"] == kind] for kind in (EQUIVALENT, NOT_EQUIVALENT, UNVERIFIED)}
    compared = rows[np.isfinite(rows["share"])].sort_values("share", ascending=False)
    seconds = rows["seconds"].dropna()
    twice = rows["same_bits"].dropna()
    return {
        "gate cells": "{}: {}".format(
            len(rows), ", ".join("{} {}".format(len(part), kind) for kind, part in found.items())
        ),
        "closest to its tolerance": "; ".join(closest(row) for row in compared.head(3).to_dict("records")) or "none",
        "not equivalent": reasons(found[NOT_EQUIVALENT]),
        "unverified": reasons(found[UNVERIFIED]),
        "the same step twice": "{} of {} cells give the same gradients bit by bit".format(int(twice.sum()), len(twice)),
        "time of a gate cell": "{} to {} s, median {} s".format(
            *("{:.1f}".format(value) for value in (seconds.min(), seconds.max(), seconds.median()))
        )
        if len(seconds)
        else "not known",
        "hardware": caption.hardware(rows),
        "precision": caption.spread(rows, "precision"),
        "feeding": caption.spread(rows, "feeding"),
        "devices": caption.spread(rows, "devices"),
        "threads": caption.spread(rows, "threads"),
        "versions": caption.versions(rows),
        "dates": caption.dates(rows),
        "claim": "of networks at their gate size, {} samples a batch; gate cells are not timed".format(
            caption.spread(rows, "batch")
        ),
    }


def closest(row):
    """Return one cell's closest line in words."""
    numbers = {"error": scientific(row["error"], 1), "tolerance": scientific(row["tolerance"], 1)}
    text = "{}, {check} {tensor}, error {error} of {tolerance} allowed"
    return text.format(named(row), **{**row, **numbers})


def reasons(rows):
    """Return every different reason with the cells that have it."""
    found = {}
    for row in rows.to_dict("records"):
        found.setdefault("{}: {}".format(row["mark"], row["reason"]), []).append(named(row))
    return "; ".join("{} ({})".format(listed(names), why) for why, names in found.items()) or "none"
