"""batch_norm, layer_norm and local_response_norm: values in units of their own spread, or of their neighbours'."""

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


def layer_norm(inputs, attributes, tensors, context):
    """y[n, t, e] = gamma[e] * (x[n, t, e] - mean[n, t]) / sqrt(variance[n, t] + epsilon) + beta[e].

    mean and variance are over the last axis e, `width` values, of one position of one sample (x[n, e] has no t), the
    variance biased (divided by `width`). They are the same in training and evaluation. With normal[e] for what gamma
    multiplies and d[e] = dy[e] * gamma[e], each mean over e:
        dx[e] = (d[e] - mean of d - normal[e] * mean of (d * normal)) / sqrt(variance + epsilon)
        dgamma[e] = sum over n, t of dy * normal, dbeta[e] = sum over n, t of dy
    Source: Ba, Kiros & Hinton 2016, "Layer normalization", section 3, equation 4 (there without epsilon).
    """
    (x,) = inputs
    gamma, beta = tensors["gamma"], tensors["beta"]
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = numpy.sqrt((centred * centred).mean(axis=-1, keepdims=True) + attributes["epsilon"])
    normal = centred / deviation
    rows = tuple(range(x.ndim - 1))

    def backward(dy):
        d = dy * gamma
        along_normal = (d * normal).mean(axis=-1, keepdims=True)
        to_x = (d - d.mean(axis=-1, keepdims=True) - normal * along_normal) / deviation
        return [to_x], {"gamma": (dy * normal).sum(axis=rows), "beta": dy.sum(axis=rows)}

    return gamma * normal + beta, backward


def local_response_norm(inputs, attributes, tensors, context):
    """y[n, c, h, w] = x[n, c, h, w] / s[n, c, h, w] ^ beta, s[c] = k + alpha / size * sum over b near c of x[b]^2.

    Near c are the `size` channels from c - (size - 1) / 2 to c + (size - 1) / 2, those that exist; alpha is divided by
    `size` also at the edges, where fewer do. c is near b where b is near c, so the gradient has the same sum:
        dx[c] = dy[c] / s[c]^beta - 2 * alpha * beta / size * x[c] * sum over b near c of dy[b] * x[b] / s[b]^(beta + 1)
    Source: Krizhevsky, Sutskever & Hinton 2012, "ImageNet classification with deep convolutional neural networks",
    section 3.3 (whose alpha is not divided by the size; that of frameworks is).
    """
    (x,) = inputs
    size, beta = attributes["size"], attributes["beta"]
    alpha = attributes["alpha"] / size
    s = attributes["k"] + alpha * sum_near(x * x, size)
    shrink = s**-beta

    def backward(dy):
        return [dy * shrink - 2.0 * alpha * beta * x * sum_near(dy * x * shrink / s, size)], {}

    return x * shrink, backward


def sum_near(terms, size):
    """Return, for each channel, the sum of the terms of the `size` channels around it, those that exist."""
    reach, channels = size // 2, terms.shape[1]
    total = numpy.zeros_like(terms)
    for channel in range(channels):
        total[:, channel] = terms[:, max(0, channel - reach) : channel + reach + 1].sum(axis=1)
    return total
