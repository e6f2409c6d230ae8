"""max_pool2d, avg_pool2d and global_avg_pool: one number for each window of each channel."""

import numpy

from worker.reference import windows


def max_pool2d(inputs, attributes, tensors, context):
    """y[n, i, r, c] = max over a, b of x[n, i, r * down + a - top, c * across + b - left]; padding never wins.

    The gradient of a window goes to its largest element; of equal ones to the first, row by row.
    Source: Scherer, Müller & Behnke 2010, "Evaluation of pooling operations in convolutional architectures for object
    recognition".
    """
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
    """y[n, i, r, c] = sum over a, b of x[n, i, r * down + a - top, c * across + b - left] / count[r, c].

    count is how many of the window's elements lie in the image or, if `count_padding`, in the image and its padding,
    whose zeros then count; what a "ceil" window hangs over beyond that never counts. The gradient of a window is
    spread over its elements in equal shares, 1 / count.
    Source: LeCun et al. 1998, "Gradient-based learning applied to document recognition", section II.A (sub-sampling).
    """
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
    """y[n, c] = sum over h, w of x[n, c, h, w] / (height * width).

    Source: Lin, Chen & Yan 2013, "Network in network", section 3.2.
    """
    (x,) = inputs

    def backward(dy):
        return [numpy.broadcast_to(dy[:, :, None, None] / (x.shape[2] * x.shape[3]), x.shape)], {}

    return x.mean(axis=(2, 3)), backward
