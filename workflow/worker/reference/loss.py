"""softmax_cross_entropy: how improbable the network finds the right classes."""

import numpy


def softmax_cross_entropy(inputs, attributes, tensors, context):
    """loss = mean over n of log(sum over c of exp(logits[n, c])) - logits[n, target[n]]: a number.

    For a sequence n runs over all (sample, position): logits (samples, positions, classes), targets (samples,
    positions). The gradient to logits[n, c] is (softmax(logits[n])[c] - (1 if c is target[n] else 0)) / count of n.
    Source: Bridle 1990, "Probabilistic interpretation of feedforward classification network outputs".
    raises ValueError if there is not one target for each row of logits.
    """
    (x,) = inputs
    targets = context.targets
    if targets.shape != x.shape[:-1]:
        raise ValueError(
            "the targets have shape {}; the logits {} need {}".format(targets.shape, x.shape, x.shape[:-1])
        )
    logits, targets = x.reshape(-1, x.shape[-1]), targets.reshape(-1)
    rows = numpy.arange(logits.shape[0])
    shifted = logits - logits.max(axis=1, keepdims=True)  # the same loss, and exp cannot overflow
    log_sum = numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))
    loss = (log_sum[:, 0] - shifted[rows, targets]).mean()

    def backward(dy):
        gradient = numpy.exp(shifted - log_sum) * (1.0 + context.loss_error)
        gradient[rows, targets] -= 1.0
        return [(dy * gradient / len(rows)).reshape(x.shape)], {}

    return loss, backward
