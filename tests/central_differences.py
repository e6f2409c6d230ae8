"""One op of the reference against central differences of its own forward pass: no second implementation is needed."""

import math

import numpy

from host.graph.build import Builder
from worker.reference import OPS
from worker.reference.network import Context
from worker.reference.normalization import exact_sum

STEP = 1e-4  # of differences of fourth order: truncation about STEP^4 = 1e-16, rounding about 1e-16 / STEP = 1e-12
TOLERANCE = 1e-7  # relative L2 error of a gradient


def context(training=True, targets=None, total=exact_sum, running_variance="biased", watching=False):
    """Return what an op shares with its network, for an op alone."""
    return Context(training, targets, total, running_variance, numpy.random.RandomState(0), watching)


def relative_error(found, expected):
    """Return the L2 norm of the difference over that of what is expected, or as it is where nothing is."""
    scale = numpy.linalg.norm(expected)
    return numpy.linalg.norm(numpy.asarray(found) - expected) / (scale if scale > 1e-12 else 1.0)


def made(define, shape, classes=None):
    """Return (builder, entry of the graph) of the last op that `define(g, input)` makes."""
    g = Builder()
    define(g, g.input(shape, classes=classes))
    return g, g.ops[-1]


def forward(define, x, tensors=None, **options):
    """Return (output, backward) of one op that reads x and nothing else."""
    _, entry = made(define, x.shape[1:], classes=1 + int(x.max()) if x.dtype.kind == "i" else None)
    return OPS[entry["op"]]([x], entry["attributes"], tensors or {}, context(**options))


def spread_values(generator, shape):
    """Return values no two of which, and none of which and 0, are closer than 0.01: no step crosses a kink."""
    count = math.prod(shape)
    return ((generator.permutation(count) - count // 2 + 0.5) * 0.02).reshape(shape)


def signed_values(generator, role, shape):
    """Return values between 0.5 and 1.5, of either sign unless the role is a variance."""
    values = generator.uniform(0.5, 1.5, shape)
    return values if role == "running_variance" else values * (2 * generator.randint(0, 2, shape) - 1)


def differences(function, array):
    """Return the central differences of a number-valued function to each element of an array, changed in place."""
    found = numpy.empty_like(array)
    flat, result = array.reshape(-1), found.reshape(-1)
    for index in range(flat.size):
        start = flat[index]
        ends = {}
        for steps in (-2, -1, 1, 2):
            flat[index] = start + steps * STEP
            ends[steps] = function()
        result[index] = (8 * (ends[1] - ends[-1]) - (ends[2] - ends[-2])) / (12 * STEP)
        flat[index] = start
    return found


def check_gradients(define, shape, batch=2, training=True, seed=0, targets=None, classes=None):
    """Compare an op's backward with differences of sum(importance * output), for random importances of the output.

    define   function(g, input) whose last op is compared; it is fed with values of its own for each value it reads
    shape    of the input, without the batch
    classes  None, or how many classes the input holds
    """
    g, entry = made(define, shape, classes)
    generator = numpy.random.RandomState(seed)
    shapes = [(batch, *g.values[name].shape) for name in entry["inputs"]]
    if classes is None:
        inputs = [spread_values(generator, each) for each in shapes]
    else:
        inputs = [generator.randint(0, classes, each) for each in shapes]
    tensors = {role: signed_values(generator, role, tensor.shape) for op, role, tensor in g.tensors if op is entry}
    buffers = {role: tensors[role].copy() for role in entry["buffers"]}

    def run():
        tensors.update((role, values.copy()) for role, values in buffers.items())
        return OPS[entry["op"]](inputs, entry["attributes"], tensors, context(training, targets))

    output, backward = run()
    assert list(numpy.shape(output)[1:]) == entry["output_shape"]
    importance = generator.uniform(0.5, 1.5, numpy.shape(output))
    to_inputs, to_parameters = backward(importance)
    assert set(to_parameters) == set(entry["parameters"])

    def total():
        return float((run()[0] * importance).sum())

    for values, gradient in zip(inputs, to_inputs, strict=True):
        if classes is None:
            assert gradient.shape == values.shape
            assert relative_error(gradient, differences(total, values)) < TOLERANCE
        else:
            assert gradient is None
    for role, gradient in to_parameters.items():
        assert gradient.shape == tensors[role].shape
        assert relative_error(gradient, differences(total, tensors[role])) < TOLERANCE, role
