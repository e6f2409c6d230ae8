"""dense: every output is a weighted sum of all inputs."""


def dense(inputs, attributes, tensors, context):
    """y[n, o] = sum over i of x[n, i] * weight[o, i], + bias[o] where the op has one.

    A sequence, x[n, t, i], is so treated at each position alike: y[n, t, o], and the weight's gradient sums over
    positions as it does over samples, dweight[o, i] = sum over n (and t) of dy[n, t, o] * x[n, t, i].
    Source: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors", equation 1.
    """
    (x,) = inputs
    weight = tensors["weight"]
    y = x.dot(weight.T)
    if "bias" in tensors:
        y = y + tensors["bias"]

    def backward(dy):
        rows = dy.reshape(-1, weight.shape[0])  # samples, or samples and positions, in one axis
        gradients = {"weight": rows.T.dot(x.reshape(-1, weight.shape[1]))}
        if "bias" in tensors:
            gradients["bias"] = rows.sum(axis=0)
        return [dy.dot(weight)], gradients

    return y, backward
