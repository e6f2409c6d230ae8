"""Wrong variants of an adapter's own operators, for adapters whose OPS are makers: maker(op, tensors, shape).

A maker gives function(training, *inputs); `worker.lowering.forward_pass` says what its arguments are.
"""

import math

import numpy


def variants(ops):
    """Return {op: maker} of what can be got wrong with an adapter's own makers alone.

    ops  the adapter's OPS
    """
    return {
        "batch_norm_evaluation": with_mode(ops["batch_norm"], False),
        "dropout_always": with_mode(ops["dropout"], True),
        "dropout_unscaled": lambda op, tensors, shape: unscaled(ops["dropout"](op, tensors, shape), op),
        "batch_norm_unbiased": lambda op, tensors, shape: unbiased(ops["batch_norm"], op, tensors, shape),
    }


def with_mode(maker, mode):
    """Return a maker whose operator takes itself to be in training, or never to be."""

    def make(op, tensors, shape):
        function = maker(op, tensors, shape)
        return lambda training, x: function(mode, x)

    return make


def unscaled(function, op):
    """Return a dropout that does not divide what it keeps by 1 - rate."""
    return lambda training, x: function(training, x) * (1.0 - op["attributes"]["rate"] if training else 1.0)


class Held(object):
    """A tensor in the place of a variable."""

    def __init__(self, value):
        self.value = value


def unbiased(maker, op, tensors, shape):
    """Return a batch-norm that divides by the unbiased deviation in training: gamma is smaller by sqrt(1 - 1 / n)."""
    gamma = op["parameters"]["gamma"]

    def normalize(training, x):
        own = tensors[gamma]
        if training:
            count = float(x.shape[0] * int(numpy.prod(shape[1:])))
            factor = math.sqrt((count - 1.0) / count)
            tensors[gamma] = Held(own.value * factor) if hasattr(own, "assign") else own * factor
        y = maker(op, tensors, shape)(training, x)
        tensors[gamma] = own
        return y

    return normalize
