"""Where a disagreement begins: the first op, or the part of training, from which a framework leaves the reference.

One mistake shows in everything behind it: a wrong padding moves each later value, the loss, and every gradient before
it. So the search follows the computation: the forward pass in the graph's order, the gradients in the reverse order,
the first update, the later ones, the running statistics, evaluation.
"""

import math
from dataclasses import dataclass

from host.gate import tolerance

ROUNDED = 0.05  # errors up to this may be products rounded to TF32 (2^-11) or bfloat16 (2^-8); a bug's are larger
STAGES = (
    ("G3", "the first update", "momentum's form, weight decay, what the gradient is averaged over"),
    ("G4", "an update after the first", "momentum, or the learning rate's change"),
    ("G5", "running statistics", "their momentum, or the form of the variance"),
    ("G6", "evaluation", "batch statistics or dropout in it"),
    ("G8", "the same step run twice", "it does not repeat itself"),
)


@dataclass(frozen=True)
class Place:
    """Where a framework first disagrees: in words, and the comparison line that shows it."""

    where: str
    line: dict


def excess(line):
    """Return error / tolerance of a line, infinite where one is no number: what was not compared did not pass."""
    try:
        error, allowed = float(line["error"]), float(line["tolerance"])
    except (TypeError, ValueError):
        return math.inf
    if not (math.isfinite(error) and math.isfinite(allowed) and allowed >= 0):
        return math.inf
    return error / allowed if allowed else (math.inf if error else 0.0)


def first(gate):
    """Return the Place where a gate cell first disagrees with the reference; None if every check is passed.

    gate  a record's `gate`: checks, and layers where the framework shows the values of its ops
    """
    failed = [line for line in gate["checks"] if excess(line) > 1]
    if not failed:
        return None
    by_check = {}
    for line in failed:
        by_check.setdefault(line["check"], []).append(line)
    if "G7" in by_check:
        return Place("structure: other tensors than the graph's", by_check["G7"][0])
    if "G1" in by_check:
        line = max(by_check["G1"], key=lambda each: (each["tensor"].startswith("logits"), excess(each)))
        if line["tensor"].startswith(("logits", "loss step 1")):
            worst = max(by_check.get("G2", [line]), key=excess)
            return Place(forward(gate, line), worst)
    if "G2" in by_check:
        return Place(*backward(gate, by_check["G2"]))
    for check, part, causes in STAGES:
        if check in by_check:
            return Place("{} ({})".format(part, causes), max(by_check[check], key=excess))
    return Place("the loss after the first step", max(failed, key=excess))


def forward(gate, line):
    """Return where the forward pass leaves the reference, in words."""
    layers = gate.get("layers") or []
    for layer in layers:
        if excess(dict(layer, tolerance=tolerance.LAYER)) > 1:
            return "forward, from {} {!r} on{}".format(layer["op"], layer["name"], rounding(gate))
    if not layers:
        return "forward; its adapter does not show the values of its ops" + rounding(gate)
    if not line["tensor"].startswith("logits"):
        return "the loss: the logits agree"
    return "forward, in the step as a whole: run op by op, every value agrees"


def backward(gate, failed):
    """Return (words, line) of the wrong gradient nearest to the loss: the checks are in the graph's order.

    Ops without parameters show no gradient: those between it and the next one whose gradient is right may be the cause.
    """
    nearest = failed[-1]
    name = nearest["tensor"].rsplit(".", 1)[0]
    right = {line["tensor"].rsplit(".", 1)[0] for line in gate["checks"] if line["check"] == "G2"} - {
        line["tensor"].rsplit(".", 1)[0] for line in failed
    }
    layers = [(layer["name"], "{} {!r}".format(layer["op"], layer["name"])) for layer in gate.get("layers") or []]
    op = dict(layers).get(name, repr(name))
    behind = [each for each, _ in layers]
    suspects = [op]
    for each, words in layers[behind.index(name) + 1 :] if name in behind else ():
        if each in right:
            break
        suspects.append(words)
    named = " or ".join(filter(None, [", ".join(suspects[:-1]), suspects[-1]]))
    return "backward, in {}: the forward pass agrees{}".format(named, rounding(gate)), nearest


def rounding(gate):
    """Return a hint where the errors are those of products in a lower precision, else nothing."""
    gradients = [line["error"] for line in gate["checks"] if line["check"] == "G2"]
    small = all(isinstance(error, float) and error < ROUNDED for error in gradients)
    if small and any(line["check"] == "precision" and excess(line) > 1 for line in gate["checks"]):
        return "; all errors are of the size of TF32 or bfloat16 products: is a lower precision on?"
    return ""


def text(place):
    """Return the refusal in one sentence: where it begins, then tensor, error and tolerance."""
    line = place.line
    return "{}: {} {}: error {} exceeds its tolerance {}".format(
        place.where, line["check"], line["tensor"], number_text(line["error"]), number_text(line["tolerance"])
    )


def number_text(number):
    """Return a number for a reader: two digits, or the word that stands in the record (nan, inf)."""
    return "{:.2g}".format(number) if isinstance(number, (int, float)) else str(number)
