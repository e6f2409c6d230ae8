"""conv2d: the same weighted sum at every place of an image."""

import numpy

from worker.reference import windows


def conv2d(inputs, attributes, tensors, context):
    """y[n, o, r, c] = sum over i, a, b of weight[o, i, a, b] * x[n, i, r * down + a - top, c * across + b - left].

    x outside its image is 0; the kernel is not flipped; bias[o] is added where the op has one. With groups, output
    channel o of group k sums over the input channels of group k only: i counts from the first of them, and the weight
    is (output channels, input channels / groups, kernel height, kernel width).
        dweight[o, i, a, b] = sum over n, r, c of dy[n, o, r, c] * the x above
        dx sums, for each element, weight[o, i, a, b] * dy[n, o, r, c] over every place of it in the sums above
    Source: LeCun et al. 1998, "Gradient-based learning applied to document recognition", section II.A; groups:
    Krizhevsky, Sutskever & Hinton 2012, "ImageNet classification with deep convolutional neural networks", section 3.5.
    """
    (x,) = inputs
    weight, groups = tensors["weight"], attributes["groups"]
    gathered = windows.gather(x, attributes)
    batch, rows, columns = x.shape[0], gathered.shape[4], gathered.shape[5]
    terms = gathered.reshape(batch, groups, -1, rows * columns)  # i, a, b in one axis, all places in another
    matrix = weight.reshape(groups, weight.shape[0] // groups, -1)
    y = numpy.matmul(matrix, terms).reshape(batch, weight.shape[0], rows, columns)
    if "bias" in tensors:
        y = y + tensors["bias"].reshape(-1, 1, 1)

    def backward(dy):
        flat = dy.reshape(batch, groups, weight.shape[0] // groups, rows * columns)
        to_weight = numpy.matmul(flat, terms.transpose(0, 1, 3, 2)).sum(axis=0)
        to_terms = numpy.matmul(matrix.transpose(0, 2, 1), flat)
        gradients = {"weight": to_weight.reshape(weight.shape)}
        if "bias" in tensors:
            gradients["bias"] = dy.sum(axis=(0, 2, 3))
        return [windows.scatter(to_terms.reshape(gathered.shape), x, attributes)], gradients

    return y, backward
