"""Faults of operations on sequences: the order of an LSTM's gates, attention's scale, mask and heads, tokens.

Source: gate orders of CNTK (i, g, f, o) and Caffe (i, f, o, g); the forget bias that TensorFlow and Keras add.
"""

import math

import numpy

from faults.fault import DoesNotApply
from faults.kinds import on_ops

LSTM_ROLES = ("weight_input", "weight_hidden", "bias")


def gate_order(name, order):
    """Enter the kind of fault in which the rows of an LSTM are taken for gates in another order."""

    @on_ops(name, "lstm")
    def plant(fault, op):
        back = numpy.argsort(order)
        for role in LSTM_ROLES:
            fault.permute(op["parameters"][role], lambda w: in_order(w, order), lambda w: in_order(w, back))


def in_order(rows, order):
    """Return the rows of an LSTM's tensor with its four gates in another order."""
    return numpy.concatenate([numpy.split(rows, 4)[gate] for gate in order])


gate_order("gates i, g, f, o", (0, 2, 1, 3))
gate_order("gates i, f, o, g", (0, 1, 3, 2))


@on_ops("forget gates start one higher", "lstm")
def forget_bias(fault, op):
    units = op["attributes"]["units"]
    raised = numpy.repeat([0.0, 1.0, 0.0, 0.0], units).astype(numpy.float32)
    fault.replace(op["parameters"]["bias"], lambda start: start + raised, lambda array: array)


@on_ops("hidden weights transposed", "lstm")
def hidden_transposed(fault, op):
    def turn(w):
        return numpy.concatenate([block.T for block in numpy.split(w, 4)])

    fault.permute(op["parameters"]["weight_hidden"], turn, turn)


@on_ops("nothing from the step before", "lstm")
def no_recurrence(fault, op):
    fault.start_at(op["parameters"]["weight_hidden"], 0.0)


@on_ops("time runs backwards", "lstm", needs=("elements",))
def backwards(fault, op):
    value = op["inputs"][0]
    positions, width = fault.shape(value)
    order = numpy.arange(positions * width).reshape(positions, width)[::-1].reshape(-1)
    fault.insert(value, "elements", {"order": order.tolist()}, reader=op)


@on_ops("causal the other way", "attention")
def other_mask(fault, op):
    op["attributes"]["causal"] = not op["attributes"]["causal"]


@on_ops("one head", "attention")
def one_head(fault, op):
    if op["attributes"]["heads"] == 1:
        raise DoesNotApply("it has one")
    op["attributes"]["heads"] = 1


def queries_scaled(name, factor):
    """Enter the kind of fault in which attention's scores are multiplied by factor(size of a head, width)."""

    @on_ops(name, "attention", needs=("scaled",))
    def plant(fault, op):
        width = op["output_shape"][1]
        scale = factor(width // op["attributes"]["heads"], width)
        fault.insert(op["inputs"][0], "scaled", {"factors": [scale] * width + [1.0] * (2 * width)}, reader=op)


queries_scaled("scores not scaled", lambda size, width: math.sqrt(size))
queries_scaled("scores scaled by the width", lambda size, width: math.sqrt(size / float(width)))


def columns(name, order):
    """Enter the kind of fault in which attention reads its columns in another order: order(width, heads)."""

    @on_ops(name, "attention", needs=("elements",))
    def plant(fault, op):
        positions, width = op["output_shape"]
        row = numpy.asarray(order(width, op["attributes"]["heads"]))
        places = numpy.arange(positions)[:, None] * 3 * width + row
        fault.insert(op["inputs"][0], "elements", {"order": places.reshape(-1).tolist()}, reader=op)


def swapped(width, heads):
    """Return keys, queries, values."""
    return numpy.arange(3 * width).reshape(3, width)[[1, 0, 2]].reshape(-1)


def interleaved(width, heads):
    """Return the columns with a head's a stride apart instead of side by side."""
    return numpy.arange(3 * width).reshape(3, width // heads, heads).transpose(0, 2, 1).reshape(-1)


def by_head(width, heads):
    """Return the columns as (heads, 3, size) has them: each head's queries, keys and values together."""
    return numpy.arange(3 * width).reshape(heads, 3, width // heads).transpose(1, 0, 2).reshape(-1)


columns("queries and keys swapped", swapped)
columns("heads interleaved", interleaved)
columns("columns by head", by_head)


@on_ops("rows off by one", "embedding", "position_embedding")
def rows_off_by_one(fault, op):
    fault.permute(op["parameters"]["weight"], lambda w: numpy.roll(w, 1, 0), lambda w: numpy.roll(w, -1, 0))


@on_ops("scaled by the root of the width", "embedding", needs=("scaled",))
def embedding_scaled(fault, op):
    fault.insert(op["name"], "scaled", {"factors": math.sqrt(op["attributes"]["width"])})
