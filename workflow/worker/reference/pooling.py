"""max_pool2d, avg_pool2d and global_avg_pool: one number for each window of each channel."""

import numpy

from worker.reference import windows


def max_pool2d(inputs, attributes, tensors, context):
    """The largest element of each window; padding never wins. Of equal ones the first, row by row, has the gradient."""
    (x,) = inputs
    gathered = windows.gather(x, attributes, fill=-numpy.inf)
    shape = gathered.shape
    flat = gathered.reshape(shape[:2] + (-1,) + shape[4:])
    winner = flat.argmax(axis=2)
    y = flat.max(axis=2)
    if context.watching and flat.shape[2] > 1:
        second = numpy.partition(flat, -2, axis=2)[:, :, -2]
        # A window of nothing but 0 is a dead ReLU's: whoever wins, the gradient ends there.
        context.watch(numpy.where((y == 0) & (second == 0), numpy.inf, y - second), x)

    def backward(dy):
        won = winner[:, :, None] == numpy.arange(flat.shape[2]).reshape(1, 1, -1, 1, 1)
        return [windows.scatter((won * dy[:, :, None]).reshape(shape), x, attributes)], {}

    return y, backward


def avg_pool2d(inputs, attributes, tensors, context):
    """The mean of each window's elements; padded zeros are among them if `count_padding`, what "ceil" adds never."""
    (x,) = inputs
    gathered = windows.gather(x, attributes)
    elements = windows.gather_framed(counting(x, attributes), attributes, gathered.shape[4:]).sum(axis=(2, 3))

    def backward(dy):
        share = (dy / elements)[:, :, None, None]
        return [windows.scatter(numpy.broadcast_to(share, gathered.shape), x, attributes)], {}

    return gathered.sum(axis=(2, 3)) / elements, backward


def counting(x, attributes):
    """Return, framed as x is, 1 where an element counts and 0 where it does not."""
    framed = windows.frame(numpy.ones((1, 1) + x.shape[2:]), attributes, 0.0)
    if attributes["count_padding"]:
        top, bottom, left, right = attributes["padding"]
        framed[:, :, : top + x.shape[2] + bottom, : left + x.shape[3] + right] = 1.0
    return framed


def global_avg_pool(inputs, attributes, tensors, context):
    """y[n, c] = mean of x[n, c] over height and width."""
    (x,) = inputs

    def backward(dy):
        return [numpy.broadcast_to(dy[:, :, None, None] / (x.shape[2] * x.shape[3]), x.shape)], {}

    return x.mean(axis=(2, 3)), backward
