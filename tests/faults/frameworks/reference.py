"""Faults in the reference's own terms: what they change in float64 tells whether they are faults at all."""

import numpy

OFFERS = (
    "change_gradients",
    "scaled",
    "elements",
    "softmax",
    "detached",
    "batch_norm_unbiased",
    "batch_norm_evaluation",
)
OWN = {}


def change_gradients(adapter, change, reported):
    """Change what the backward pass gives, or only what the optimiser gets."""
    network = adapter.network

    def changed(gradients):
        return {name: change(name, gradient, network.parameters[name]) for name, gradient in gradients.items()}

    if reported:
        backward = network.backward
        network.backward = lambda: changed(backward())
    else:
        update = network.optimizer.update
        network.optimizer.update = lambda parameters, gradients: update(parameters, changed(gradients))


def operations(module):
    ops = module.OPS

    def scaled(inputs, attributes, tensors, context):
        factors = numpy.asarray(attributes["factors"], float)
        return inputs[0] * factors, lambda gradient: ([gradient * factors], {})

    def elements(inputs, attributes, tensors, context):
        x, order = inputs[0], numpy.asarray(attributes["order"])

        def take(array, places):
            return array.reshape(len(x), -1)[:, places].reshape(x.shape)

        return take(x, order), lambda gradient: ([take(gradient, numpy.argsort(order))], {})

    def softmax(inputs, attributes, tensors, context):
        shares = numpy.exp(inputs[0] - inputs[0].max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)

        def backward(gradient):
            return [shares * (gradient - (gradient * shares).sum(-1, keepdims=True))], {}

        return shares, backward

    def detached(inputs, attributes, tensors, context):
        return inputs[0], lambda gradient: ([0.0 * gradient], {})

    def batch_norm_evaluation(inputs, attributes, tensors, context):
        training, context.training = context.training, False
        made = ops["batch_norm"](inputs, attributes, tensors, context)
        context.training = training
        return made

    def batch_norm_unbiased(inputs, attributes, tensors, context):
        count = float(inputs[0].size // inputs[0].shape[1])
        factor = numpy.sqrt((count - 1.0) / count) if context.training else 1.0
        y, own = ops["batch_norm"](inputs, attributes, dict(tensors, gamma=tensors["gamma"] * factor), context)

        def backward(gradient):
            to_inputs, to_tensors = own(gradient)
            return to_inputs, dict(to_tensors, gamma=to_tensors["gamma"] * factor)

        return y, backward

    return {
        "scaled": scaled,
        "elements": elements,
        "softmax": softmax,
        "detached": detached,
        "batch_norm_evaluation": batch_norm_evaluation,
        "batch_norm_unbiased": batch_norm_unbiased,
    }
