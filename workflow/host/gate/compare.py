"""Compare what a framework computed in a gate cell with the reference's bundle: one line per check and tensor.

A line has check, tensor, error, tolerance and the reference's noise; a cell is equivalent if no error is above its
tolerance, which is derived from these lines and never stored.
"""

import numpy

from host.gate import tolerance
from host.gate.tolerance import Noise


def line(check, tensor, error, allowed, noise=None):
    """Return one comparison; a non-finite error is written as a text that JSON can hold."""
    error = float(error)
    return {
        "check": check,
        "tensor": tensor,
        "error": error if numpy.isfinite(error) else str(error),
        "tolerance": float(allowed),
        "noise": None if noise is None else float(noise),
    }


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
    missing = sorted(set(bundle.expected) - set(found))
    lines += [line("G7", "nothing came back for " + name, 1.0, 0.0) for name in missing]
    expected = {name: value for name, value in bundle.expected.items() if name in found}
    lines += losses(found, expected)
    for check, group in (("G2", "gradient"), ("G3", "update1"), ("G4", "update5")):
        lines += tensors(check, group, found, expected, bundle)
    return lines + buffers(found, expected, bundle)


def losses(found, expected):
    """Return G1 (loss of each step, logits of the first) and G6 (an inference step, loss in evaluation mode)."""
    lines = []
    for step, (ours, reference) in enumerate(zip(found["loss"], expected["loss"], strict=True), start=1):
        lines.append(line("G1", "loss step {}".format(step), abs(ours / reference - 1), tolerance.LOSS))
    logits = tolerance.relative_error(found["logits"], expected["logits"], 0.0)
    lines.append(line("G1", "logits step 1", logits, tolerance.LOSS))
    evaluated = abs(float(found["evaluation_loss"]) / float(expected["evaluation_loss"]) - 1)
    inferred = tolerance.relative_error(found["inference_logits"], expected["inference_logits"], 0.0)
    lines.append(line("G6", "logits of an inference step", inferred, tolerance.LOSS))
    return lines + [line("G6", "evaluation loss after step 5", evaluated, tolerance.LOSS)]


def tensors(check, group, found, expected, bundle):
    """Return one line for each parameter of a check on gradients or updates."""
    names = [name for name in expected if name.startswith(group + "/")]
    largest = max(float(numpy.linalg.norm(expected[name])) for name in names)
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
