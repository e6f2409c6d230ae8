"""batch_norm: each channel shifted and scaled by its own mean and variance."""

import numpy


def exact_sum(terms):
    """Return the sum of each channel's terms over the batch and all positions, in a shape that broadcasts."""
    return terms.sum(axis=(0,) + tuple(range(2, terms.ndim)), keepdims=True)


def batch_norm(inputs, attributes, tensors, context):
    """y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, channel by channel.

    In training mean and variance are the batch's, over samples and positions (n values a channel), the variance
    biased (divided by n), and the running statistics become momentum * old + (1 - momentum) * batch's; in evaluation
    they are the running ones. Frameworks differ in whether the variance that enters the running one is divided by n
    ("biased") or n - 1 ("unbiased"): `context.running_variance` says which.
    Source: Ioffe & Szegedy 2015, "Batch Normalization", algorithms 1 and 2.
    """
    (x,) = inputs
    wide = (1, -1) + (1,) * (x.ndim - 2)
    gamma, beta = tensors["gamma"].reshape(wide), tensors["beta"].reshape(wide)
    if not context.training:
        return evaluate(x, gamma, beta, attributes["epsilon"], tensors, wide)
    total = context.total
    n = x.size // x.shape[1]
    mean = total(x) / n
    centred = x - mean
    variance = total(centred * centred) / n
    deviation = numpy.sqrt(variance + attributes["epsilon"])
    normal = centred / deviation
    kept = variance if context.running_variance == "biased" else variance * n / (n - 1)
    keep = attributes["momentum"]
    for role, batch in (("running_mean", mean), ("running_variance", kept)):
        tensors[role][:] = keep * tensors[role] + (1.0 - keep) * batch.reshape(-1)

    def backward(dy):
        to_beta = total(dy)
        to_gamma = total(dy * normal)
        to_x = gamma / deviation * (dy - to_beta / n - normal * to_gamma / n)
        return [to_x], {"gamma": to_gamma.reshape(-1), "beta": to_beta.reshape(-1)}

    return gamma * normal + beta, backward


def evaluate(x, gamma, beta, epsilon, tensors, wide):
    """Return y and its backward with the running statistics, which are constants then."""
    deviation = numpy.sqrt(tensors["running_variance"].reshape(wide) + epsilon)
    normal = (x - tensors["running_mean"].reshape(wide)) / deviation

    def backward(dy):
        gradients = {"gamma": exact_sum(dy * normal).reshape(-1), "beta": exact_sum(dy).reshape(-1)}
        return [gamma / deviation * dy], gradients

    return gamma * normal + beta, backward
