"""The weights that a worker starts from: drawn from the graph's seed or read from files, and their hash.

Written for Python 3.6 and NumPy 1.16, whose RandomState gives the same bits as the newest (NEP 19 froze it).
The host draws the same with code of its own and compares the hashes.
"""

import hashlib

import numpy


def draw(graph, seed):
    """Return {name: float32 array} for the graph's parameters, in its order, and then its buffers.

    All tensors are drawn in turn from one RandomState, in float64, and then cast to float32.
    """
    generator = numpy.random.RandomState(seed)
    return {
        tensor["name"]: sample(generator, tuple(tensor["shape"]), tensor["initial"]).astype(numpy.float32)
        for tensor in graph["parameters"] + graph["buffers"]
    }


def sample(generator, shape, initial):
    """Return one float64 array of a distribution that a graph can name; raise ValueError for any other."""
    kind = initial["distribution"]
    if kind == "constant":
        return numpy.zeros(shape) + initial["value"]
    if kind == "uniform":
        low, high = initial["low"], initial["high"]
        return low + (high - low) * generator.random_sample(shape)
    if kind == "normal":
        return initial["mean"] + initial["standard_deviation"] * generator.standard_normal(shape)
    raise ValueError("no such distribution: {!r}".format(kind))


def load(arrays):
    """Return {name: float32 array} read from {name: path of a .npy file}, in that order.

    raises ValueError if a file holds anything but float32: casting would hide a mistake in who wrote it
    """
    loaded = {}
    for name, path in arrays.items():
        values = numpy.load(path)
        if values.dtype != numpy.dtype("<f4"):
            raise ValueError("{} ({}) is {}; weights are float32".format(path, name, values.dtype))
        loaded[name] = values
    return loaded


def sha256(weights):
    """Return the SHA-256 of {name: float32 array}: name, 0, shape, 0 and little-endian bytes of each, in its order."""
    digest = hashlib.sha256()
    for name in weights:
        values = weights[name]
        if values.dtype != numpy.dtype("float32"):
            raise ValueError("{} is {}; weights are float32".format(name, values.dtype))
        head = "{}\0{}\0".format(name, tuple(values.shape))
        digest.update(head.encode("utf-8"))
        digest.update(values.astype("<f4").tobytes(order="C"))
    return digest.hexdigest()
