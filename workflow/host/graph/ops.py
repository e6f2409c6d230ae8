"""The op table: for each op its attributes and defaults, its checks, its output shape and the tensors it holds.

One function an op, found by its decorator; the builder (`host.graph`) makes a method of each, so an op is added here
and nowhere else on the host. What an op computes, forward and backward, is written down in `worker/reference/`.

Shapes never hold the batch. Images are (channels, height, width). A kernel or stride is one number or (height, width);
a padding is one number, (vertical, horizontal) or (top, bottom, left, right), and is zeros, except for max pooling,
where it never wins.
"""

import inspect
import math
from dataclasses import dataclass, field

OPS = {}
LOSSES = ("softmax_cross_entropy",)


@dataclass(frozen=True)
class Tensor:
    """A tensor that an op holds: its shape, what it is to weight decay, and how training starts it.

    kind     "weight" (decayed), "bias", "normalization", or None for a buffer, which is not trained
    initial  the constant it starts at; None means drawn, by the rule of `host.graph.initial`
    """

    shape: tuple
    kind: str | None
    initial: float | None


@dataclass(frozen=True)
class Made:
    """What an op becomes: attributes in full, the shape of its output, its parameters and buffers by role."""

    output_shape: tuple
    attributes: dict = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    buffers: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Op:
    """One row of the table: how many values the op reads and the function that checks them and makes the op."""

    name: str
    inputs: int
    make: object

    def apply(self, shapes, arguments, keywords):
        """Return the Made op for these input shapes; ValueError if the arguments do not fit the op."""
        try:
            bound = inspect.signature(self.make).bind(*shapes, *arguments, **keywords)
        except TypeError as error:
            parameters = list(inspect.signature(self.make).parameters.values())[self.inputs :]
            takes = ", ".join(str(parameter) for parameter in parameters) or "no attributes"
            raise ValueError("{}; it takes {}".format(error, takes)) from None
        return self.make(*bound.args, **bound.kwargs)


def op(inputs=1):
    """Enter the decorated function into the table; its name is the op's, its first `inputs` arguments are shapes."""

    def enter(make):
        OPS[make.__name__] = Op(make.__name__, inputs, make)
        return make

    return enter


def whole(name, value, least=1):
    """Return the value as an int; ValueError if it is not a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError("{} is {!r}; it must be a whole number, {} or more".format(name, value, least))
    return value


def number(name, value, low, high):
    """Return the value as a float; ValueError unless low <= value < high."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value < high:
        raise ValueError("{} is {!r}; it must be a number from {} to below {}".format(name, value, low, high))
    return float(value)


def spread(name, value, lengths, least):
    """Return a number or a sequence as a list: one number is repeated, two become (vertical x2, horizontal x2) of 4."""
    values = [value] if isinstance(value, int) else list(value)
    if len(values) == 1:
        values = values * lengths[-1]
    elif len(values) == 2 and lengths[-1] == 4:
        values = [values[0], values[0], values[1], values[1]]
    if len(values) != lengths[-1]:
        raise ValueError(
            "{} is {!r}; it must have one number or {}".format(name, value, " or ".join(map(str, lengths)))
        )
    return [whole(name, each, least) for each in values]


def image(shape):
    """Return the shape if it is (channels, height, width); ValueError otherwise."""
    if len(shape) != 3:
        raise ValueError("the input has shape {}; it must be (channels, height, width)".format(list(shape)))
    return shape


def positions(length, kernel, stride, before, after, rounding="floor"):
    """Return how many windows fit along one axis.

    With "ceil" a last window may hang over the far end, but only if it starts inside the input or the near padding
    (Caffe, PyTorch; MXNet's "full").
    """
    padded = length + before + after
    if kernel > padded:
        problem = "the kernel ({}) is larger than the input with its padding ({} + {} + {})"
        raise ValueError(problem.format(kernel, length, before, after))
    if rounding == "floor":
        return (padded - kernel) // stride + 1
    count = -(-(padded - kernel) // stride) + 1
    return count - 1 if (count - 1) * stride >= length + before else count


def window(shape, kernel, stride, padding, rounding="floor"):
    """Return (kernel, stride, padding in full, [height, width] of the output) of a convolution or a pooling."""
    _, height, width = image(shape)
    kernel = spread("kernel", kernel, (2,), 1)
    stride = spread("stride", stride, (2,), 1)
    padding = spread("padding", padding, (2, 4), 0)
    rows = positions(height, kernel[0], stride[0], padding[0], padding[1], rounding)
    columns = positions(width, kernel[1], stride[1], padding[2], padding[3], rounding)
    return kernel, stride, padding, [rows, columns]


def with_bias(weight, bias):
    """Return the parameters of a layer: its weight, drawn, and its bias, one per output and 0, unless it has none."""
    parameters = {"weight": Tensor(tuple(weight), "weight", None)}
    if bias:
        parameters["bias"] = Tensor((weight[0],), "bias", 0.0)
    return parameters


@op()
def dense(shape, units, bias=True):
    """Fully connected: weight (units, inputs)."""
    if len(shape) != 1:
        raise ValueError("the input has shape {}; flatten it first".format(list(shape)))
    units = whole("units", units)
    return Made((units,), {"units": units}, with_bias((units, shape[0]), bias))


@op()
def conv2d(shape, channels, kernel, stride=1, padding=0, groups=1, bias=True):
    """Cross-correlation: weight (channels, input channels / groups, kernel height, kernel width)."""
    kernel, stride, padding, output = window(shape, kernel, stride, padding)
    channels, groups = whole("channels", channels), whole("groups", groups)
    if shape[0] % groups or channels % groups:
        problem = "groups is {}; it must divide both the input's {} channels and the output's {}"
        raise ValueError(problem.format(groups, shape[0], channels))
    attributes = {"channels": channels, "kernel": kernel, "stride": stride, "padding": padding, "groups": groups}
    return Made((channels, *output), attributes, with_bias((channels, shape[0] // groups, *kernel), bias))


def pooling(shape, kernel, stride, padding, rounding):
    """Return (output shape, attributes) of a pooling; the stride is the kernel unless it is given."""
    if rounding not in ("floor", "ceil"):
        raise ValueError("rounding is {!r}; it must be 'floor' or 'ceil'".format(rounding))
    stride = kernel if stride is None else stride
    kernel, stride, padding, output = window(shape, kernel, stride, padding, rounding)
    if max(padding[:2]) >= kernel[0] or max(padding[2:]) >= kernel[1]:
        problem = "the padding {} is not smaller than the kernel {}: a window could hold nothing but padding"
        raise ValueError(problem.format(padding, kernel))
    attributes = {"kernel": kernel, "stride": stride, "padding": padding, "rounding": rounding}
    return (shape[0], *output), attributes


@op()
def max_pool2d(shape, kernel, stride=None, padding=0, rounding="floor"):
    """Largest value of each window; padding never wins."""
    return Made(*pooling(shape, kernel, stride, padding, rounding))


@op()
def avg_pool2d(shape, kernel, stride=None, padding=0, rounding="floor", count_padding=True):
    """Mean of each window; `count_padding` says whether padded zeros count (what `ceil` hangs over never does)."""
    if not isinstance(count_padding, bool):
        raise ValueError("count_padding is {!r}; it must be True or False".format(count_padding))
    output_shape, attributes = pooling(shape, kernel, stride, padding, rounding)
    return Made(output_shape, dict(attributes, count_padding=count_padding))


@op()
def global_avg_pool(shape):
    """Mean over height and width: (channels,)."""
    return Made((image(shape)[0],))


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
def dropout(shape, rate):
    """In training each element is 0 with probability `rate`, else divided by 1 - rate; identity in evaluation."""
    return Made(shape, {"rate": number("rate", rate, 0.0, 1.0)})


@op()
def batch_norm(shape, epsilon=1e-5, momentum=0.9):
    """Normalise each channel over batch and positions; running = momentum * running + (1 - momentum) * batch."""
    if len(shape) not in (1, 3):
        problem = "the input has shape {}; it must be (channels,) or (channels, height, width)"
        raise ValueError(problem.format(list(shape)))
    epsilon, momentum = number("epsilon", epsilon, 0.0, 1.0), number("momentum", momentum, 0.0, 1.0)
    if epsilon == 0.0:
        raise ValueError("epsilon is 0; it must be above 0, or a constant channel divides by 0")
    channels = (shape[0],)
    parameters = {"gamma": Tensor(channels, "normalization", 1.0), "beta": Tensor(channels, "normalization", 0.0)}
    buffers = {"running_mean": Tensor(channels, None, 0.0), "running_variance": Tensor(channels, None, 1.0)}
    return Made(shape, {"epsilon": epsilon, "momentum": momentum}, parameters, buffers)


@op(inputs=2)
def add(first, second):
    """Element by element; nothing is broadcast."""
    if first != second:
        raise ValueError("the shapes differ: {} and {}".format(list(first), list(second)))
    return Made(first)


@op()
def flatten(shape):
    """(channels, height, width) to one axis, the width running fastest."""
    return Made((math.prod(shape),))


@op()
def softmax_cross_entropy(shape):
    """Mean over the samples of -log softmax(logits)[target]."""
    if len(shape) != 1 or shape[0] < 2:
        raise ValueError("the logits have shape {}; they must be (classes,), two or more".format(list(shape)))
    return Made(())
