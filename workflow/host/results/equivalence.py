"""Is it the same computation? Join every measured record with the gate records of its framework and network.

A gate record holds errors against the float64 reference and their tolerances; the verdict is derived here:

    equivalent       every check of every matching gate record is within its tolerance
    not equivalent   one is not: the worst tensor, its error and its tolerance are named
    unverified       no gate record that ended ok ran with the same sources in the same environment; the reason is named
"""

import math

from host.results.words import EQUIVALENT, NOT_EQUIVALENT, UNVERIFIED, listed, readable

SAME_AXES = ("framework", "network", "execution", "precision", "hardware", "feeding", "devices", "threads")
SAME_SOURCES = ("adapter", "worker", "network", "environment")


def gate_key(cell):
    """Return what a gate cell and the measured cells that it speaks for have in common."""
    return tuple(cell.get(name) for name in SAME_AXES)


def verdict(cell, fingerprint, gates):
    """Return (equivalence, reason) of one measured record.

    cell         its axes
    fingerprint  {adapter, worker, network, environment} of its sources, or None
    gates        list of (row, record or None) of all gate cells, missing and damaged ones included
    """
    candidates = [(row, record) for row, record in gates if gate_key(row) == gate_key(cell)]
    if not candidates:
        return UNVERIFIED, "the study has no gate cell for it"
    passed = [record for row, record in candidates if row["status"] == "ok" and not row["superseded"]]
    if not passed:
        row = candidates[-1][0]
        why = ": {}".format(row["reason"]) if row["reason"] else ""
        return UNVERIFIED, "its gate cell has the status {}{}".format(readable(row["status"]), why)
    if all(row.get("stale") for row, record in candidates if record in passed):
        return UNVERIFIED, "its gate cell was compared with other sources than the present ones: run it again"
    differing = [different_sources(fingerprint, record.get("fingerprint")) for record in passed]
    same = [record for record, parts in zip(passed, differing, strict=True) if not parts]
    if not same:
        return UNVERIFIED, "its gate cell ran with another {}: run the gate cell again".format(listed(differing[-1]))
    checks = [check for record in same for check in record["gate"].get("checks") or []]
    if not checks:
        return UNVERIFIED, "its gate cell compared nothing"
    if any(not (record["gate"].get("start") or {}).get("fit", True) for record in same):
        return UNVERIFIED, "its gate network has no start that is far enough from ties: change the network's gate size"
    worst = max(checks, key=excess)
    if excess(worst) <= 1:
        return EQUIVALENT, ""
    return NOT_EQUIVALENT, "{} {}: error {} exceeds its tolerance {}".format(
        worst["check"], worst["tensor"], number_text(worst["error"]), number_text(worst["tolerance"])
    )


def different_sources(mine, theirs):
    """Return the parts of two fingerprints that differ; a part that one of them does not know counts as different."""
    mine, theirs = mine or {}, theirs or {}
    return [part for part in SAME_SOURCES if mine.get(part) is None or mine.get(part) != theirs.get(part)]


def excess(check):
    """Return error / tolerance of one check, infinite where one is no number: what was not compared did not pass."""
    try:
        error, tolerance = float(check["error"]), float(check["tolerance"])
    except (TypeError, ValueError):
        return math.inf
    if not (math.isfinite(error) and math.isfinite(tolerance) and tolerance >= 0):
        return math.inf
    return error / tolerance if tolerance else (math.inf if error else 0.0)


def number_text(number):
    """Return a number for a reader: two digits, or the word that stands in the record (nan, inf)."""
    return "{:.2g}".format(number) if isinstance(number, (int, float)) else str(number)
