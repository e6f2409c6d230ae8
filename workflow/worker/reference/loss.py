"""softmax_cross_entropy: how improbable the network finds the right classes."""

import numpy


def softmax_cross_entropy(inputs, attributes, tensors, context):
    """loss = mean over samples of log(sum over c of exp(logits[n, c])) - logits[n, target[n]]: a number."""
    (logits,) = inputs
    samples = numpy.arange(logits.shape[0])
    shifted = logits - logits.max(axis=1, keepdims=True)  # the same loss, and exp cannot overflow
    log_sum = numpy.log(numpy.exp(shifted).sum(axis=1, keepdims=True))
    loss = (log_sum[:, 0] - shifted[samples, context.targets]).mean()

    def backward(dy):
        gradient = numpy.exp(shifted - log_sum)
        gradient[samples, context.targets] -= 1.0
        return [dy * gradient / len(samples)], {}

    return loss, backward
