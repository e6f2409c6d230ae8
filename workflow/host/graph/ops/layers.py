"""Ops with parameters on any shape, and the loss: fully connected, normalisation, cross-entropy."""

from host.graph.ops.table import Made, Tensor, number, op, positive, whole, with_bias


@op()
def dense(shape, units, bias=True):
    """Fully connected over the last axis, at each position alike: weight (units, inputs)."""
    if len(shape) > 2:
        raise ValueError("the input has shape {}; flatten it first".format(list(shape)))
    units = whole("units", units)
    return Made((*shape[:-1], units), {"units": units}, with_bias((units, shape[-1]), bias))


@op()
def batch_norm(shape, epsilon=1e-5, momentum=0.9):
    """Normalise each channel over batch and positions; running = momentum * running + (1 - momentum) * batch."""
    if len(shape) not in (1, 3):
        problem = "the input has shape {}; it must be (channels,) or (channels, height, width)"
        raise ValueError(problem.format(list(shape)))
    epsilon, momentum = positive("epsilon", epsilon, 1.0), number("momentum", momentum, 0.0, 1.0)
    channels = (shape[0],)
    parameters = {"gamma": Tensor(channels, "normalization", 1.0), "beta": Tensor(channels, "normalization", 0.0)}
    buffers = {"running_mean": Tensor(channels, None, 0.0), "running_variance": Tensor(channels, None, 1.0)}
    return Made(shape, {"epsilon": epsilon, "momentum": momentum}, parameters, buffers)


@op()
def layer_norm(shape, epsilon=1e-5):
    """Normalise each position over its last axis, with the biased variance; gamma and beta as long as that axis."""
    if len(shape) > 2:
        problem = "the input has shape {}; it must be (width,) or (positions, width)"
        raise ValueError(problem.format(list(shape)))
    width = (shape[-1],)
    parameters = {"gamma": Tensor(width, "normalization", 1.0), "beta": Tensor(width, "normalization", 0.0)}
    return Made(shape, {"epsilon": positive("epsilon", epsilon, 1.0)}, parameters)


@op()
def softmax_cross_entropy(shape):
    """Mean over the samples, and their positions if they have any, of -log softmax(logits)[target]."""
    if len(shape) not in (1, 2) or shape[-1] < 2:
        problem = "the logits have shape {}; they must be (classes,) or (positions, classes), two classes or more"
        raise ValueError(problem.format(list(shape)))
    return Made(())
