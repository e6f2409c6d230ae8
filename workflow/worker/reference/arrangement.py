"""add and flatten: values put together or in another shape."""


def add(inputs, attributes, tensors, context):
    """y = a + b, element by element."""
    first, second = inputs

    def backward(dy):
        return [dy, dy], {}

    return first + second, backward


def flatten(inputs, attributes, tensors, context):
    """(batch, channels, height, width) to (batch, all of them): the width runs fastest, then height, then channel."""
    (x,) = inputs

    def backward(dy):
        return [dy.reshape(x.shape)], {}

    return x.reshape(x.shape[0], -1), backward
