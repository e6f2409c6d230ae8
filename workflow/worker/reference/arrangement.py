"""add, multiply, concat, flatten and reshape: values put together, or in another shape."""

import numpy


def add(inputs, attributes, tensors, context):
    """y[...] = a[...] + b[...].

    Source: He et al. 2016, "Deep residual learning for image recognition", section 3.2 (identity shortcuts).
    """
    first, second = inputs

    def backward(dy):
        return [dy, dy], {}

    return first + second, backward


def multiply(inputs, attributes, tensors, context):
    """y[...] = a[...] * b[...]; dy/da = b, dy/db = a.

    Source: Dauphin et al. 2017, "Language modeling with gated convolutional networks", section 2 (a gate).
    """
    first, second = inputs

    def backward(dy):
        return [dy * second, dy * first], {}

    return first * second, backward


def concat(inputs, attributes, tensors, context):
    """Along one axis, the first input's elements, then the second's, and so on; `axis` counts without the batch.

    For two images joined along axis 0, y[n, c] = a[n, c] for c < channels of a, else b[n, c - channels of a].
    Source: Szegedy et al. 2015, "Going deeper with convolutions", section 4 (filter concatenation).
    """
    axis = 1 + attributes["axis"]
    ends = numpy.cumsum([each.shape[axis] for each in inputs])

    def backward(dy):
        return numpy.split(dy, ends[:-1], axis=axis), {}

    return numpy.concatenate(inputs, axis=axis), backward


def flatten(inputs, attributes, tensors, context):
    """(batch, ...) to (batch, all of them), the last axis fastest: an image's width, then height, then channel.

    y[n, (c * height + h) * width + w] = x[n, c, h, w].
    """
    (x,) = inputs

    def backward(dy):
        return [dy.reshape(x.shape)], {}

    return x.reshape(x.shape[0], -1), backward


def reshape(inputs, attributes, tensors, context):
    """(batch, ...) to (batch, *to): the same elements in the same order, the last axis fastest before and after.

    Element k of sample n, counted from the first with the last axis fastest, is element k of y's sample n.
    """
    (x,) = inputs

    def backward(dy):
        return [dy.reshape(x.shape)], {}

    return x.reshape((x.shape[0],) + tuple(attributes["to"])), backward
