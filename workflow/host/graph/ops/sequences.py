"""Ops on sequences, (positions, width), and on the classes (tokens) that they are made from."""

from host.graph.ops.table import Made, Tensor, flag, op, sequence, whole


@op(reads="int64")
def embedding(shape, vocabulary, width):
    """A row of the weight (vocabulary, width) for each class: (positions,) becomes (positions, width)."""
    if len(shape) != 1:
        raise ValueError("the input has shape {}; it must be (positions,)".format(list(shape)))
    vocabulary, width = whole("vocabulary", vocabulary, 2), whole("width", width)
    weight = Tensor((vocabulary, width), "weight", None, fan_in=1)  # a row is chosen, not summed: variance 1
    return Made((shape[0], width), {"vocabulary": vocabulary, "width": width}, {"weight": weight})


@op()
def position_embedding(shape):
    """Add the weight (positions, width), a learned row for each position, the same for all samples."""
    return Made(sequence(shape), {}, {"weight": Tensor(tuple(shape), "weight", None, fan_in=1)})


@op()
def lstm(shape, units):
    """One layer of long short-term memory, forwards from a state of zeros: (positions, units), every hidden state.

    weight_input (4 units, width), weight_hidden (4 units, units), ONE bias (4 units,), each in the gate order input,
    forget, cell, output.
    """
    positions, width = sequence(shape)
    units = whole("units", units)
    weights = {"weight_input": Tensor((4 * units, width), "weight", None)}
    weights["weight_hidden"] = Tensor((4 * units, units), "weight", None)
    return Made((positions, units), {"units": units}, dict(weights, bias=Tensor((4 * units,), "bias", 0.0)))


@op()
def attention(shape, heads, causal):
    """Scaled dot-product attention: (positions, 3 width), queries, keys and values side by side, to (positions, width).

    Head h has columns h * size to (h + 1) * size of each of the three, size = width / heads; scores are divided by
    sqrt(size). `causal`: a position sees itself and those before it.
    """
    positions, columns = sequence(shape)
    heads, causal = whole("heads", heads), flag("causal", causal)
    if columns % (3 * heads):
        problem = "the input is {} wide; it must be queries, keys and values of one width that {} heads divide"
        raise ValueError(problem.format(columns, heads))
    return Made((positions, columns // 3), {"heads": heads, "causal": causal})
