"""relu, sigmoid and tanh: one number in, one number out."""

import numpy


def relu(inputs, attributes, tensors, context):
    """y = max(x, 0); the slope at exactly 0 is 0."""
    (x,) = inputs
    context.watch(numpy.abs(x), x)  # an input this close to 0 may fall on the other side in float32

    def backward(dy):
        return [numpy.where(x > 0, dy, 0.0)], {}

    return numpy.maximum(x, 0.0), backward


def sigmoid(inputs, attributes, tensors, context):
    """y = 1 / (1 + exp(-x)), written with exp(-|x|), which cannot overflow."""
    (x,) = inputs
    small = numpy.exp(-numpy.abs(x))
    y = numpy.where(x >= 0, 1.0, small) / (1.0 + small)

    def backward(dy):
        return [dy * y * (1.0 - y)], {}

    return y, backward


def tanh(inputs, attributes, tensors, context):
    """y = tanh(x)."""
    y = numpy.tanh(inputs[0])

    def backward(dy):
        return [dy * (1.0 - y * y)], {}

    return y, backward
