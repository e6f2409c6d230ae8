"""A graph's starting weights and their hash, as the host computes them; the worker has its own (`worker/weights.py`).

The two never import each other: a worker proves with the hash that it started from the weights that the host meant.
"""

import hashlib

import numpy


def draw(graph, seed):
    """Return {name: float32 array} for the graph's parameters, in its order, and then its buffers.

    One numpy.random.RandomState(seed) serves all tensors in turn; a tensor is drawn in float64 and cast. Constants
    draw nothing. Only `random_sample` and `standard_normal` are used, and scaled here, so that no version of NumPy
    can round differently.
    """
    generator = numpy.random.RandomState(seed)
    drawn = {}
    for tensor in graph["parameters"] + graph["buffers"]:
        initial, shape = tensor["initial"], tuple(tensor["shape"])
        match initial["distribution"]:
            case "constant":
                values = numpy.full(shape, initial["value"], dtype=numpy.float64)
            case "uniform":
                values = generator.random_sample(shape) * (initial["high"] - initial["low"]) + initial["low"]
            case "normal":
                values = generator.standard_normal(shape) * initial["standard_deviation"] + initial["mean"]
            case other:
                raise ValueError("{}: {!r} is no distribution of a graph".format(tensor["name"], other))
        drawn[tensor["name"]] = values.astype(numpy.float32)
    return drawn


def sha256(weights):
    """Return the hash of {name: float32 array} in its own order.

    For each array: name, a zero byte, the shape as Python writes the tuple, a zero byte, the elements in C order as
    little-endian float32. raises ValueError if an array is not float32.
    """
    digest = hashlib.sha256()
    for name, values in weights.items():
        if values.dtype != numpy.float32:
            raise ValueError("{} is {}; the hash is of float32".format(name, values.dtype))
        digest.update(name.encode("utf-8") + b"\0" + repr(tuple(values.shape)).encode("utf-8") + b"\0")
        digest.update(numpy.ascontiguousarray(values, dtype="<f4").tobytes())
    return digest.hexdigest()
