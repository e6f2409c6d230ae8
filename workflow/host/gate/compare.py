"""Compare what a framework computed in a gate cell with the reference's bundle: one line per check and tensor.

A line has check, tensor, error, tolerance and the reference's noise; a cell is equivalent if no error is above its
tolerance, which is derived from these lines and never stored.
"""

import numpy

from host.gate import tolerance
from host.gate.tolerance import Noise


def line(check, tensor, error, allowed, noise=None):
    """Return one comparison; a non-finite error is written as a text that JSON can hold."""
    return {
        "check": check,
        "tensor": tensor,
        "error": finite(error),
        "tolerance": float(allowed),
        "noise": None if noise is None else float(noise),
    }


def finite(error):
    """Return an error as JSON can hold it: a text where it is not finite."""
    return float(error) if numpy.isfinite(error) else str(float(error))


def structure(graph, built):
    """Return G7: names, shapes and count of the parameters against the graph, error 0 or 1."""
    expected = {parameter["name"]: parameter["shape"] for parameter in graph["parameters"]}
    wrong = sorted(set(expected) ^ set(built["shapes"])) or sorted(
        name for name in expected if expected[name] != built["shapes"][name]
    )
    count = sum(int(numpy.prod(shape)) for shape in expected.values())
    counted = built["parameter_count"] == count
    names = "names and shapes" + (": {}".format(", ".join(wrong[:3])) if wrong else "")
    return [line("G7", names, float(bool(wrong)), 0.0), line("G7", "parameter count", float(not counted), 0.0)]


def compare(graph, built, found, bundle):
    """Return the comparison lines of one gate cell.

    graph   the gate graph
    built   the worker's `built` message: shapes, parameter_count
    found   {name: array} of the framework
    bundle  host.gate.bundle.Bundle: the reference's arrays and noise
    """
    lines = structure(graph, built)
    compared = {name: value for name, value in bundle.expected.items() if not name.startswith("value/")}
    wrong = sorted(name for name in compared if name not in found or found[name].shape != compared[name].shape)
    lines += [line("G7", "nothing of its shape came back for " + name, 1.0, 0.0) for name in wrong]
    expected = {name: value for name, value in compared.items() if name not in wrong}
    lines += losses(found, expected)
    for check, group in (("G2", "gradient"), ("G3", "update1"), ("G4", "update5")):
        lines += tensors(check, group, found, expected, bundle)
    lines += buffers(found, expected, bundle)
    lines += repetition(found, lines)
    return lines + precision(graph, lines)


def layers(graph, found, bundle):
    """Return [{"op", "name", "error"}]: how far the value of each op is from the reference's, in the graph's order.

    error  relative L2 in a forward pass of the first batch in training mode; a text where it is no number. Ops that
           the framework does not show are left out.
    """
    shown = []
    for op in graph["ops"]:
        name = "value/" + op["name"]
        if name in found and name in bundle.expected:
            expected, value = bundle.expected[name], found[name]
            error = tolerance.relative_error(value, expected, 0.0) if value.shape == expected.shape else numpy.inf
            shown.append({"op": op["op"], "name": op["name"], "error": finite(error)})
    return shown


def repetition(found, lines):
    """Return G8, one line: the gradient that differs most, by its tolerance, when the same step is run again."""
    allowed = {each["tensor"]: each["tolerance"] for each in lines if each["check"] == "G2"}
    worst = None
    for tensor, most in allowed.items():
        first, again = found["gradient/" + tensor], found.get("again/" + tensor)
        if again is None:
            return []
        error = 0.0 if numpy.array_equal(first, again) else tolerance.relative_error(again, first, 0.0)
        if worst is None or error / most > worst["error"] / worst["tolerance"]:
            worst = {"tensor": tensor, "error": error, "tolerance": most}
    if worst is None:
        return []
    same = "every gradient, bit by bit the same"
    return [line("G8", worst["tensor"] if worst["error"] else same, worst["error"], worst["tolerance"])]


def precision(graph, lines):
    """Return the precision detector's line: the worst gradient, where no batch-norm makes honest errors as large."""
    gradients = [each for each in lines if each["check"] == "G2"]
    if not gradients or any(op["op"] == "batch_norm" for op in graph["ops"]):
        return []
    worst = max(gradients, key=lambda each: float(each["error"]))
    return [line("precision", worst["tensor"], float(worst["error"]), tolerance.PRECISION)]


def losses(found, expected):
    """Return G1 (loss of each step, logits of the first) and G6 (an inference step, loss in evaluation mode)."""
    lines = []
    for step, (ours, reference) in enumerate(zip(found["loss"], expected.get("loss", ()), strict=False), start=1):
        lines.append(line("G1", "loss step {}".format(step), abs(ours / reference - 1), tolerance.LOSS))
    for check, name, words in (
        ("G1", "logits", "logits step 1"),
        ("G6", "inference_logits", "logits of an inference step"),
        ("G6", "evaluation_loss", "evaluation loss after step 5"),
    ):
        if name in expected:
            error = tolerance.relative_error(found[name], expected[name], 0.0)
            lines.append(line(check, words, error, tolerance.LOSS))
    return lines


def tensors(check, group, found, expected, bundle):
    """Return one line for each parameter of a check on gradients or updates."""
    names = [name for name in expected if name.startswith(group + "/")]
    largest = max((float(numpy.linalg.norm(expected[name])) for name in names), default=0.0)
    lines = []
    for name in names:
        parameter = name.split("/", 1)[1]
        noise = Noise(**bundle.noise[name])
        if group == "gradient":
            allowed = tolerance.gradient(noise)
        else:
            size = max(float(numpy.linalg.norm(expected[name])), tolerance.NEGLIGIBLE * largest)
            allowed = tolerance.update(noise, float(numpy.linalg.norm(bundle.start[parameter])), size)
        error = tolerance.relative_error(found[name], expected[name], largest)
        lines.append(line(check, parameter, error, allowed, max(noise.operands, noise.reductions)))
    return lines


def buffers(found, expected, bundle):
    """Return G5: running means against the batch's standard deviation, running variances relatively."""
    lines = []
    for name in expected:
        if name.startswith("buffer/"):
            buffer = name.split("/", 1)[1]
            scale = bundle.scale.get(buffer)
            base = float(numpy.linalg.norm(expected[name] if scale is None else scale))
            error = float(numpy.linalg.norm(numpy.asarray(found[name], numpy.float64) - expected[name])) / base
            lines.append(line("G5", buffer, error, tolerance.BUFFER))
    return lines
