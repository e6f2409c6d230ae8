"""Is it the same computation? Join every measured record with the gate records of its framework and network.

A gate record holds errors against the float64 reference and their tolerances; the verdict is derived here:

    equivalent       every check of every matching gate record is within its tolerance
    not equivalent   one is not: where it first disagrees, the tensor, its error and its tolerance are named
    unverified       no gate record that ended ok ran with the same sources in the same environment; the reason is named
"""

from host.gate import locate
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
    if not any(record["gate"].get("checks") for record in same):
        return UNVERIFIED, "its gate cell compared nothing"
    if any(not (record["gate"].get("start") or {}).get("fit", True) for record in same):
        return UNVERIFIED, "its gate network has no start that is far enough from ties: change the network's gate size"
    places = [place for place in (locate.first(record["gate"]) for record in same) if place]
    return (NOT_EQUIVALENT, locate.text(places[0])) if places else (EQUIVALENT, "")


def different_sources(mine, theirs):
    """Return the parts of two fingerprints that differ; a part that one of them does not know counts as different."""
    mine, theirs = mine or {}, theirs or {}
    return [part for part in SAME_SOURCES if mine.get(part) is None or mine.get(part) != theirs.get(part)]
