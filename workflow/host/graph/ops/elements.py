"""Ops that work element by element, and ops that only put elements in another place."""

import math

from host.graph.ops.table import Made, number, one_of, op, whole


@op()
def relu(shape):
    """The larger of x and 0."""
    return Made(shape)


@op()
def sigmoid(shape):
    """1 / (1 + exp(-x))."""
    return Made(shape)


@op()
def tanh(shape):
    """The hyperbolic tangent."""
    return Made(shape)


@op()
def gelu(shape, approximation):
    """x * Phi(x), Phi the normal distribution ("erf"), or Hendrycks & Gimpel's formula with a tanh for it ("tanh")."""
    return Made(shape, {"approximation": one_of("approximation", approximation, ("erf", "tanh"))})


@op()
def dropout(shape, rate):
    """In training each element is 0 with probability `rate`, else divided by 1 - rate; identity in evaluation."""
    return Made(shape, {"rate": number("rate", rate, 0.0, 1.0)})


@op(inputs=2)
def add(first, second):
    """Element by element; nothing is broadcast."""
    if first != second:
        raise ValueError("the shapes differ: {} and {}".format(list(first), list(second)))
    return Made(first)


@op(inputs=2)
def multiply(first, second):
    """Element by element; nothing is broadcast."""
    if first != second:
        raise ValueError("the shapes differ: {} and {}".format(list(first), list(second)))
    return Made(first)


@op(inputs=None)
def concat(*shapes, axis=0):
    """Put values side by side along one axis, counted without the batch: 0 is an image's channels."""
    if len(shapes) < 2:
        raise ValueError("it joins two or more values, {} given".format(len(shapes)))
    axis = whole("axis", axis, 0)
    if axis >= len(shapes[0]):
        raise ValueError("axis is {}; the first value has the axes 0 to {}".format(axis, len(shapes[0]) - 1))
    others = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    if any(len(shape) != len(shapes[0]) for shape in shapes) or any(other != others[0] for other in others):
        problem = "the shapes {} differ in more than axis {}"
        raise ValueError(problem.format(", ".join(str(list(shape)) for shape in shapes), axis))
    length = sum(shape[axis] for shape in shapes)
    return Made(shapes[0][:axis] + (length,) + shapes[0][axis + 1 :], {"axis": axis})


@op()
def flatten(shape):
    """(channels, height, width) to one axis, the width running fastest."""
    return Made((math.prod(shape),))


@op()
def reshape(shape, to):
    """The same elements in the same order (the last axis fastest) under another shape, without the batch."""
    to = tuple(whole("to", length) for length in to)
    if math.prod(to) != math.prod(shape):
        problem = "to is {} with {} elements; the input {} has {}"
        raise ValueError(problem.format(list(to), math.prod(to), list(shape), math.prod(shape)))
    return Made(to, {"to": list(to)})
