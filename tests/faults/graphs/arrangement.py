"""Faults in the order of elements: flattening, joining, weights read in another order of memory."""

import numpy

from faults.fault import DoesNotApply
from faults.kinds import on_ops

THROUGH = ("relu", "sigmoid", "tanh", "gelu", "dropout")  # behind a flatten they keep each element where it is


def channels_last(image):
    """Return the order that reads an image of (channels, height, width) with the channels fastest."""
    return numpy.arange(int(numpy.prod(image))).reshape(image).transpose(1, 2, 0).reshape(-1)


@on_ops("flattened with channels last", "flatten")
def flattened_channels_last(fault, op):
    """The dense layers behind it read (height, width, channels) with weights for (channels, height, width)."""
    image = fault.shape(op["inputs"][0])
    if len(image) != 3:
        raise DoesNotApply("it flattens no image")
    carriers, readers = {op["name"]}, []
    for reader in fault.graph["ops"]:
        if carriers & set(reader["inputs"]):
            carriers.update([reader["name"]] if reader["op"] in THROUGH else [])
            readers += [reader] if reader["op"] == "dense" else []
    if not readers:
        raise DoesNotApply("no dense layer reads it")
    order = channels_last(image)
    for reader in readers:
        fault.permute(reader["parameters"]["weight"], lambda w: w[:, numpy.argsort(order)], lambda w: w[:, order])


@on_ops("reshaped with channels last", "reshape", needs=("elements",))
def reshaped_channels_last(fault, op):
    image = fault.shape(op["inputs"][0])
    if len(image) != 3:
        raise DoesNotApply("it reshapes no image")
    fault.insert(op["name"], "elements", {"order": channels_last(image).tolist()})


@on_ops("joined in the other order", "concat")
def joined_in_the_other_order(fault, op):
    op["inputs"].reverse()
    fault.refit()


@on_ops("weights in the other order of memory", "dense", "conv2d", "embedding")
def other_order_of_memory(fault, op):
    """(inputs, outputs) read as (outputs, inputs), without a transposition."""
    name = op["parameters"]["weight"]
    shape = tuple(fault.entry(name)["shape"])
    fault.permute(name, lambda w: w.reshape(shape[::-1]).T, lambda w: w.T.reshape(shape))


@on_ops("outputs reversed", "dense", "conv2d")
def outputs_reversed(fault, op):
    """Outputs whose weights are reversed and whose biases are not, or the other way round."""
    fault.permute(op["parameters"]["weight"], lambda w: w[::-1], lambda w: w[::-1])
