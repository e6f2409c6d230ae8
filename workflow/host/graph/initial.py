"""How a network's tensors start: the distributions that `host.graph` writes into a graph, for training and the gate.

Training. Weights are uniform in +-sqrt(6 / fan_in) where a ReLU follows (variance 2 / fan_in: He et al. 2015,
"Delving Deep into Rectifiers", equation 10) and in +-sqrt(3 / fan_in) otherwise (variance 1 / fan_in: LeCun et al.
1998, "Efficient BackProp", section 4.6); biases and beta 0, gamma 1. Uniform draws only: a normal draw goes through
the platform's logarithm, a uniform one through nothing that could differ between versions of NumPy.

Gate. Nothing may be 0, 1 or equal to its neighbour, or a bug hides: biases ~ N(0, 0.1^2), gamma ~ N(1, 0.2^2), beta
and running means ~ N(0, 0.1^2). Convolutions that feed a batch_norm are scaled by 0.3 and layers that feed a layer_norm
by 0.1, so that the variance there is small enough for a wrong epsilon to be felt; the running variance starts at 0.5 to
2 times the variance expected, so that its first value does not hide whether the batch's is biased. Dropout is off (rate
0) in the gate.
"""

import math

TRANSPARENT = ("add", "avg_pool2d", "batch_norm", "concat", "dropout", "flatten", "global_avg_pool", "layer_norm")
TRANSPARENT += ("local_response_norm", "max_pool2d", "reshape")
BEFORE_NORM = 0.3  # factor on the weights of convolutions that feed a batch_norm, in the gate
BEFORE_LAYER_NORM = 0.1  # the same of whatever feeds a layer_norm; its statistics have no rounding to amplify
SMALL_STAYS_SMALL = ("add", "avg_pool2d", "concat", "dropout", "flatten", "gelu", "global_avg_pool", "max_pool2d")
SMALL_STAYS_SMALL += ("position_embedding", "reshape", "tanh")
STATISTICS = {  # role or kind: (mean, standard deviation) in the gate
    "bias": (0.0, 0.1),
    "gamma": (1.0, 0.2),
    "beta": (0.0, 0.1),
    "running_mean": (0.0, 0.1),
}


def constant(value):
    """Return the description of a tensor that starts at one value."""
    return {"distribution": "constant", "value": float(value)}


def uniform(low, high):
    """Return the description of a tensor drawn uniformly from [low, high)."""
    return {"distribution": "uniform", "low": float(low), "high": float(high)}


def normal(mean, standard_deviation):
    """Return the description of a tensor drawn from a normal distribution."""
    return {"distribution": "normal", "mean": float(mean), "standard_deviation": float(standard_deviation)}


def readers(ops, value):
    """Return the ops that read a value."""
    return [each for each in ops if value in each["inputs"]]


def relu_follows(ops, value):
    """Say whether the value reaches a ReLU through nothing but normalisation, addition, pooling and reshaping."""
    for reader in readers(ops, value):
        if reader["op"] == "relu":
            return True
        if reader["op"] in TRANSPARENT and relu_follows(ops, reader["name"]):
            return True
    return False


def bound(ops, maker, tensor):
    """Return the largest weight of the layer `maker`: sqrt(6 / fan_in) before a ReLU, else sqrt(3 / fan_in)."""
    fan_in = tensor.fan_in or math.prod(tensor.shape[1:])
    return math.sqrt((6.0 if relu_follows(ops, maker["name"]) else 3.0) / fan_in)


def feeds_norm(ops, maker):
    """Say whether the op is a convolution whose output a batch_norm reads."""
    return maker["op"] == "conv2d" and any(each["op"] == "batch_norm" for each in readers(ops, maker["name"]))


def feeds_layer_norm(ops, value):
    """Say whether a layer_norm reads the value, itself or through ops that leave what is small small."""
    return any(
        each["op"] == "layer_norm" or (each["op"] in SMALL_STAYS_SMALL and feeds_layer_norm(ops, each["name"]))
        for each in readers(ops, value)
    )


def training(ops, maker, role, tensor):
    """Return how a tensor of the op `maker` starts in training."""
    if tensor.initial is not None:
        return constant(tensor.initial)
    limit = bound(ops, maker, tensor)
    return uniform(-limit, limit)


def gate(ops, maker, role, tensor):
    """Return how a tensor of the op `maker` starts in the gate."""
    if role in STATISTICS:
        return normal(*STATISTICS[role])
    if role == "running_variance":
        expected = expected_variance(ops, maker)
        return uniform(0.5 * expected, 2.0 * expected)
    limit = bound(ops, maker, tensor)
    if feeds_norm(ops, maker):
        limit *= BEFORE_NORM
    elif feeds_layer_norm(ops, maker["name"]):
        limit *= BEFORE_LAYER_NORM
    return uniform(-limit, limit)


def expected_variance(ops, norm):
    """Return the variance expected at a batch_norm's input, for network inputs of variance 1.

    A convolution's output has variance fan_in * Var(weight) * E[x^2], and a uniform weight in +-b variance b^2 / 3.
    E[x^2] is taken as 1, and as 1/2 behind a ReLU, which halves the square of what is symmetric about 0.
    """
    makers = {each["name"]: each for each in ops}
    maker = makers.get(norm["inputs"][0])
    if maker is None or maker["op"] != "conv2d":
        return 1.0
    square = 0.5 if behind_relu(makers, maker["inputs"][0]) else 1.0
    gain = (6.0 if relu_follows(ops, maker["name"]) else 3.0) / 3.0
    return gain * BEFORE_NORM**2 * square


def behind_relu(makers, value):
    """Say whether a value comes out of a ReLU, pooling and dropout apart."""
    maker = makers.get(value)
    if maker is not None and maker["op"] in ("max_pool2d", "avg_pool2d", "dropout"):
        return behind_relu(makers, maker["inputs"][0])
    return maker is not None and maker["op"] == "relu"


RULES = {"training": training, "gate": gate}
