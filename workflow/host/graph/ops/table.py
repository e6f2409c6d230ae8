"""The op table itself, and the checks that ops share. Its rows stand in the modules beside this one."""

import inspect
from dataclasses import dataclass, field

OPS = {}
LOSSES = ("softmax_cross_entropy",)


@dataclass(frozen=True)
class Tensor:
    """A tensor that an op holds: its shape, what it is to weight decay, and how training starts it.

    kind     "weight" (decayed), "bias", "normalization", or None for a buffer, which is not trained
    initial  the constant it starts at; None means drawn, by the rule of `host.graph.initial`
    fan_in   how many terms each output sums, for drawing; None means all but the first axis of the shape
    """

    shape: tuple
    kind: str | None
    initial: float | None
    fan_in: int | None = None


@dataclass(frozen=True)
class Made:
    """What an op becomes: attributes in full, the shape of its output, its parameters and buffers by role."""

    output_shape: tuple
    attributes: dict = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    buffers: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Op:
    """One row of the table: how many values the op reads, of which type, and the function that checks and makes it.

    inputs  None means two or more
    reads   dtype of the values it reads: "float32", or "int64" for classes such as tokens
    """

    name: str
    inputs: int | None
    reads: str
    make: object

    def apply(self, shapes, arguments, keywords):
        """Return the Made op for these input shapes; ValueError if the arguments do not fit the op."""
        try:
            bound = inspect.signature(self.make).bind(*shapes, *arguments, **keywords)
        except TypeError as error:
            parameters = list(inspect.signature(self.make).parameters.values())[self.inputs or 1 :]
            takes = ", ".join(str(parameter) for parameter in parameters) or "no attributes"
            raise ValueError("{}; it takes {}".format(error, takes)) from None
        return self.make(*bound.args, **bound.kwargs)


def op(inputs=1, reads="float32"):
    """Enter the decorated function into the table; its name is the op's, its first `inputs` arguments are shapes."""

    def enter(make):
        OPS[make.__name__] = Op(make.__name__, inputs, reads, make)
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


def positive(name, value, high):
    """Return the value as a float; ValueError unless 0 < value < high."""
    if number(name, value, 0.0, high) == 0.0:
        raise ValueError("{} is 0; it must be above 0, or what is constant or zero divides by 0".format(name))
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


def with_bias(weight, bias):
    """Return the parameters of a layer: its weight, drawn, and its bias, one per output and 0, unless it has none."""
    parameters = {"weight": Tensor(tuple(weight), "weight", None)}
    if bias:
        parameters["bias"] = Tensor((weight[0],), "bias", 0.0)
    return parameters


def sequence(shape):
    """Return the shape if it is (positions, width); ValueError otherwise."""
    if len(shape) != 2:
        raise ValueError("the input has shape {}; it must be (positions, width)".format(list(shape)))
    return shape


def flag(name, value):
    """Return the value if it is True or False; ValueError otherwise."""
    if not isinstance(value, bool):
        raise ValueError("{} is {!r}; it must be True or False".format(name, value))
    return value


def one_of(name, value, choices):
    """Return the value if it is one of the choices; ValueError otherwise."""
    if value not in choices:
        raise ValueError("{} is {!r}; it must be {}".format(name, value, " or ".join(map(repr, choices))))
    return value
