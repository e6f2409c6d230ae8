"""Windows that slide over an image: what convolution and pooling share."""

import numpy


def count(length, kernel, stride, before, after, rounding):
    """Return how many windows fit along one axis of `length` elements with padding before and after.

    "floor": all of the window must lie on the padded axis. "ceil": one more may hang over its far end, if it starts
    before the padding at that end.
    """
    room = length + before + after - kernel
    if rounding == "floor":
        return room // stride + 1
    windows = (room + stride - 1) // stride + 1
    while (windows - 1) * stride >= length + before:
        windows -= 1
    return windows


def counts(x, attributes):
    """Return (rows, columns): how many windows fit on the images x, given kernel, stride, padding and rounding."""
    top, bottom, left, right = attributes["padding"]
    rounding = attributes.get("rounding", "floor")
    return (
        count(x.shape[2], attributes["kernel"][0], attributes["stride"][0], top, bottom, rounding),
        count(x.shape[3], attributes["kernel"][1], attributes["stride"][1], left, right, rounding),
    )


def places(attributes, rows, columns):
    """Yield (i, j, index): index[...] picks, from padded images, element (i, j) of every window."""
    down, across = attributes["stride"]
    for i in range(attributes["kernel"][0]):
        for j in range(attributes["kernel"][1]):
            row = slice(i, i + (rows - 1) * down + 1, down)
            column = slice(j, j + (columns - 1) * across + 1, across)
            yield i, j, (slice(None), slice(None), row, column)


def frame(x, attributes, fill):
    """Return x in a larger image of `fill`: its padding, and what windows of "ceil" hang over."""
    rows, columns = counts(x, attributes)
    top, bottom, left, right = attributes["padding"]
    height = max(top + x.shape[2] + bottom, (rows - 1) * attributes["stride"][0] + attributes["kernel"][0])
    width = max(left + x.shape[3] + right, (columns - 1) * attributes["stride"][1] + attributes["kernel"][1])
    framed = numpy.full(x.shape[:2] + (height, width), fill, dtype=numpy.float64)
    framed[:, :, top : top + x.shape[2], left : left + x.shape[3]] = x
    return framed


def gather(x, attributes, fill=0.0):
    """Return the windows of x: (batch, channels, kernel height, kernel width, rows, columns)."""
    return gather_framed(frame(x, attributes, fill), attributes, counts(x, attributes))


def gather_framed(framed, attributes, counted):
    """Return the windows of images that have their frame already; `counted` is (rows, columns)."""
    gathered = numpy.empty(framed.shape[:2] + tuple(attributes["kernel"]) + tuple(counted))
    for i, j, index in places(attributes, *counted):
        gathered[:, :, i, j] = framed[index]
    return gathered


def scatter(gradients, x, attributes):
    """Return the gradient to x from the gradients to its windows: each element sums over the windows it is in."""
    rows, columns = counts(x, attributes)
    framed = numpy.zeros_like(frame(x, attributes, 0.0))
    for i, j, index in places(attributes, rows, columns):
        framed[index] += gradients[:, :, i, j]
    top, _, left, _ = attributes["padding"]
    return framed[:, :, top : top + x.shape[2], left : left + x.shape[3]]
