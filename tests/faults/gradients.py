"""Faults of gradients: of one tensor, or of all; seen by the gate, or made only on the way to the optimiser."""

import numpy

from faults.fault import DoesNotApply
from faults.kinds import on_networks, on_tensors
from faults.rounding import rounded

NEEDS = ("change_gradients",)
BATCH = 16  # the gate's
DEVICES = 2
CLIPPED = 0.5  # of its own norm
WEIGHTS = ("dense.weight", "conv2d.weight", "lstm.weight_hidden", "embedding.weight")
BIASES = ("dense.bias", "conv2d.bias", "lstm.bias")
OTHERS = ("dense.bias", "batch_norm.beta", "layer_norm.gamma", "lstm.bias")


def of_one(name, change, groups=None, reported=True):
    """Enter the kind of fault in which change(gradient) is used for the gradient of one tensor."""

    @on_tensors(name, groups, needs=NEEDS)
    def plant(fault, tensor):
        fault.gradient = lambda name, gradient, value: change(gradient) if name == tensor else gradient
        fault.reported = reported


def of_all(name, change, reported=True):
    """Enter the kind of fault in which change(gradient) is used for every gradient."""

    @on_networks(name, "gradient", needs=NEEDS)
    def plant(fault):
        fault.gradient = lambda name, gradient, value: change(gradient)
        fault.reported = reported


def clipped(gradient):
    """Return the gradient with its largest elements cut to a share of its norm."""
    most = CLIPPED * numpy.linalg.norm(gradient) / numpy.sqrt(gradient.size)
    return numpy.clip(gradient, -most, most)


def half_missing(gradient):
    """Return the gradient without the second half of its first axis."""
    kept = gradient.copy()
    kept[(len(gradient) + 1) // 2 :] = 0.0
    return kept


of_one("gradient missing", lambda g: 0.0 * g)
of_one("gradient doubled", lambda g: 2.0 * g, BIASES)  # as of a second bias that is trained too
of_one("gradient halved by one device", lambda g: g / DEVICES, WEIGHTS)
of_one("gradient with the other sign", lambda g: -g, OTHERS)
of_one("gradient clipped", clipped, WEIGHTS)
of_one("gradient of half the rows", half_missing, OTHERS)
of_one("gradient rounded to bfloat16", lambda g: rounded(g, 7), OTHERS)
of_one("gradient off by 0.1 %", lambda g: 1.001 * g, OTHERS)
of_one("tensor not given to the optimiser", lambda g: 0.0 * g, WEIGHTS, reported=False)
of_all("all gradients summed over the batch", lambda g: BATCH * g)
of_all("all gradients halved by one device", lambda g: g / DEVICES)
of_all("all gradients doubled by two devices", lambda g: DEVICES * g)
of_all("gradients halved on the way to the optimiser", lambda g: g / DEVICES, reported=False)
of_all("gradients rounded to bfloat16 on the way to the optimiser", lambda g: rounded(g, 7), reported=False)


def accumulated(name, reported):
    """Enter the kind of fault in which gradients are never set to zero."""

    @on_networks(name, "gradient", needs=NEEDS)
    def plant(fault):
        sums = {}

        def change(name, gradient, value):
            sums[name] = sums.get(name, 0.0) + gradient
            return sums[name]

        fault.gradient, fault.reported = change, reported


accumulated("gradients not zeroed", True)


@on_networks("gradients of two tensors exchanged", "gradient", needs=NEEDS)
def exchanged(fault):
    """Of the last two of one shape: each gets what the other had in the step before."""
    by_shape, pair = {}, None
    for entry in fault.graph["parameters"]:
        shape = tuple(entry["shape"])
        pair = (by_shape[shape], entry["name"]) if shape in by_shape else pair
        by_shape[shape] = entry["name"]
    if pair is None:
        raise DoesNotApply("no two tensors are of one shape")
    held = {}

    def change(name, gradient, value):
        if name not in pair:
            return gradient
        held[name] = gradient
        return held.get(pair[1 - pair.index(name)], 0.0 * gradient)

    fault.gradient = change
