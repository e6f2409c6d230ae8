"""Faults of operations on images: windows, padding, rounding, kernels, local response normalisation.

Source: what the two studies' tools really did (ceil pooling, convolutions padded on the other side or not at all,
swapped widths), and the defaults in which frameworks differ ("SAME", averages that leave out the padding, kernels that
are flipped).
"""

from faults.fault import DoesNotApply
from faults.kinds import on_ops

WINDOWS = ("conv2d", "max_pool2d", "avg_pool2d")


def change(fault, op, **attributes):
    """Set attributes of an op and fit everything behind it; DoesNotApply if they are as they were."""
    if all(op["attributes"].get(name) == value for name, value in attributes.items()):
        raise DoesNotApply("{} has that already".format(op["name"]))
    op["attributes"].update(attributes)
    fault.refit()


@on_ops("padding on the other side", *WINDOWS)
def padding_on_the_other_side(fault, op):
    top, bottom, left, right = op["attributes"]["padding"]
    change(fault, op, padding=[bottom, top, right, left])


@on_ops("padding shifted by one", *WINDOWS)
def padding_shifted(fault, op):
    before, after = op["attributes"]["padding"][2:]
    shifted = [before - 1, after + 1] if before else [before + 1, after - 1]
    if min(shifted) < 0 or (op["op"] != "conv2d" and max(shifted) >= op["attributes"]["kernel"][1]):
        raise DoesNotApply("there is no padding to shift")
    change(fault, op, padding=op["attributes"]["padding"][:2] + shifted)


@on_ops("padding dropped", *WINDOWS)
def padding_dropped(fault, op):
    change(fault, op, padding=[0, 0, 0, 0])


@on_ops("padding SAME", *WINDOWS)
def padding_same(fault, op):
    """TensorFlow's: as much as makes ceil(length / stride) windows, the odd one at the bottom and on the right."""
    attributes, padding = op["attributes"], []
    for axis, length in enumerate(fault.shape(op["inputs"][0])[1:]):
        kernel, stride = attributes["kernel"][axis], attributes["stride"][axis]
        total = max(0, (-(-length // stride) - 1) * stride + kernel - length)
        padding += [total // 2, total - total // 2]
    change(fault, op, padding=padding)


@on_ops("stride on one axis only", *WINDOWS)
def stride_on_one_axis(fault, op):
    change(fault, op, stride=[op["attributes"]["stride"][0], 1])


@on_ops("axes of the window swapped", *WINDOWS)
def axes_swapped(fault, op):
    attributes = op["attributes"]
    change(fault, op, kernel=attributes["kernel"][::-1], stride=attributes["stride"][::-1])


@on_ops("ceil for floor", "max_pool2d", "avg_pool2d")
def ceil_for_floor(fault, op):
    change(fault, op, rounding="ceil")


@on_ops("floor for ceil", "max_pool2d", "avg_pool2d")
def floor_for_ceil(fault, op):
    change(fault, op, rounding="floor")


@on_ops("padding counted the other way", "avg_pool2d")
def padding_counted(fault, op):
    change(fault, op, count_padding=not op["attributes"]["count_padding"])


@on_ops("average for maximum", "max_pool2d")
def average_for_maximum(fault, op):
    op["op"] = "avg_pool2d"
    op["attributes"]["count_padding"] = True


@on_ops("maximum for average", "avg_pool2d")
def maximum_for_average(fault, op):
    op["op"] = "max_pool2d"
    del op["attributes"]["count_padding"]


@on_ops("kernel flipped", "conv2d")
def kernel_flipped(fault, op):
    """Convolution in the sense of mathematics, as Theano's conv2d by default."""
    fault.permute(op["parameters"]["weight"], lambda w: w[:, :, ::-1, ::-1], lambda w: w[:, :, ::-1, ::-1])


@on_ops("kernel transposed", "conv2d")
def kernel_transposed(fault, op):
    fault.permute(op["parameters"]["weight"], lambda w: swap(w, 2, 3), lambda w: swap(w, 2, 3))


def swap(array, one, other):
    """Return the array with two axes of one length swapped; as it is where they differ."""
    return array.swapaxes(one, other) if array.shape[one] == array.shape[other] else array


@on_ops("input channels reversed", "conv2d")
def channels_reversed(fault, op):
    """Blue, green, red for red, green, blue."""
    fault.permute(op["parameters"]["weight"], lambda w: w[:, ::-1], lambda w: w[:, ::-1])


@on_ops("alpha not divided by the size", "local_response_norm")
def alpha_not_divided(fault, op):
    """As TensorFlow's, whose alpha is each neighbour's."""
    change(fault, op, alpha=op["attributes"]["alpha"] * op["attributes"]["size"])


@on_ops("k is 2", "local_response_norm")
def other_k(fault, op):
    """As Krizhevsky's, where others have 1."""
    change(fault, op, k=2.0)


@on_ops("beta is 0.5", "local_response_norm")
def other_beta(fault, op):
    """As TensorFlow's default."""
    change(fault, op, beta=0.5)


@on_ops("size is 5", "local_response_norm")
def other_size(fault, op):
    change(fault, op, size=5)
