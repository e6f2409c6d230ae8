"""Does every framework compute what the reference computes, and how close does it come to what is allowed?

A row a gate cell. G1 to precision hold the largest share of each check, error / tolerance: above 1 it is failed; a dash
is a check that this network or framework does not have. `closest` is the tensor that comes nearest to its tolerance,
with its error and what is allowed. `same bits`: the same step, run twice, gives the same gradients bit by bit. A cell
that is not equivalent has its reason as a note.
"""

from host.results import gates
from host.results.words import EQUIVALENT, NOT_EQUIVALENT

READS = "gate"
LANDSCAPE = True
AXES = ("framework", "execution", "network", "hardware", "precision", "feeding", "devices", "threads")
HEADINGS = {"same_bits": "same bits", "seconds": "s"}


def table(gate):
    """Return the gate cells with axes, verdict, shares of every check, closest line, time (s), status and reason.

    gate     DataFrame, a row a comparison line, as host.results.collect writes it
    returns  DataFrame of host.results.gates.summary, in the order of frameworks, executions and networks, the axes
             first; `reason` holds why a cell is not equivalent
    """
    rows = gates.summary(gate)
    rows = rows.sort_values([*AXES, "path"], kind="stable", ignore_index=True)
    others = [name for name in rows if name not in (*AXES, "reason", "machine", "versions")]
    return rows[[*AXES, *others, "versions", "reason"]]


def printed(rows):
    """Return the columns to read: shares with two digits, error and tolerance in short, the verdict in one word."""
    shown = rows[list(AXES)].copy()
    verdicts = {EQUIVALENT: "yes", NOT_EQUIVALENT: "NO"}
    pairs = zip(rows["verdict"], rows["mark"], strict=True)
    shown["equivalent"] = [verdicts.get(kind, word) for kind, word in pairs]
    for name in rows:
        if name.startswith(gates.OF_CHECK):
            check = name.removeprefix(gates.OF_CHECK)
            shown["prec." if check in AXES else check] = rows[name].map(gates.compact)  # the axis has the name
    pairs = zip(rows["check"], rows["tensor"], strict=True)
    shown["closest"] = ["{} {}".format(*pair) if pair[0] else "–" for pair in pairs]
    for name, column in (("error", "error"), ("allowed", "tolerance")):
        shown[name] = [gates.scientific(value, 1) for value in rows[column]]
    shown["same_bits"] = rows["same_bits"].map({True: "yes", False: "no"}).fillna("–")
    shown["seconds"] = ["–" if value != value else "{:.1f}".format(value) for value in rows["seconds"]]
    shown["reason"] = rows["reason"]
    return shown
