"""dense: every output is a weighted sum of all inputs."""


def dense(inputs, attributes, tensors, context):
    """y[n, o] = sum over i of x[n, i] * weight[o, i], + bias[o] where the op has one."""
    (x,) = inputs
    weight = tensors["weight"]
    y = x.dot(weight.T)
    if "bias" in tensors:
        y = y + tensors["bias"]

    def backward(dy):
        gradients = {"weight": dy.T.dot(x)}
        if "bias" in tensors:
            gradients["bias"] = dy.sum(axis=0)
        return [dy.dot(weight)], gradients

    return y, backward
