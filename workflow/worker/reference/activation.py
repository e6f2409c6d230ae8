"""relu, sigmoid, tanh and gelu: one number in, one number out."""

import math

import numpy


def relu(inputs, attributes, tensors, context):
    """y[...] = max(x[...], 0); the slope at exactly 0 is 0.

    Source: Nair & Hinton 2010, "Rectified linear units improve restricted Boltzmann machines".
    """
    (x,) = inputs
    context.watch(numpy.abs(x), x)  # an input this close to 0 may fall on the other side in float32

    def backward(dy):
        return [numpy.where(x > 0, dy, 0.0)], {}

    return numpy.maximum(x, 0.0), backward


def logistic(x):
    """Return 1 / (1 + exp(-x)), written with exp(-|x|), which cannot overflow."""
    small = numpy.exp(-numpy.abs(x))
    return numpy.where(x >= 0, 1.0, small) / (1.0 + small)


def sigmoid(inputs, attributes, tensors, context):
    """y[...] = 1 / (1 + exp(-x[...])); dy/dx = y * (1 - y).

    Source: Rumelhart, Hinton & Williams 1986, "Learning representations by back-propagating errors", equation 2.
    """
    y = logistic(inputs[0])

    def backward(dy):
        return [dy * y * (1.0 - y)], {}

    return y, backward


def tanh(inputs, attributes, tensors, context):
    """y[...] = tanh(x[...]); dy/dx = 1 - y^2.

    Source: LeCun et al. 1998, "Efficient BackProp", section 4.4 (there scaled; here as it is).
    """
    y = numpy.tanh(inputs[0])

    def backward(dy):
        return [dy * (1.0 - y * y)], {}

    return y, backward


def gelu(inputs, attributes, tensors, context):
    """y[...] = x[...] * Phi(x[...]), Phi the share of a standard normal distribution that lies below x.

    approximation "erf":   Phi(x) = (1 + erf(x / sqrt(2))) / 2, exactly;  dPhi/dx = exp(-x^2 / 2) / sqrt(2 pi)
    approximation "tanh":  Phi(x) = (1 + tanh(u)) / 2 with u = sqrt(2 / pi) * (x + 0.044715 x^3)
    In both dy/dx = Phi + x * dPhi/dx, so the "tanh" gradient is that of its formula, not of the exact Phi.
    Source: Hendrycks & Gimpel 2016, "Gaussian error linear units", section 2.
    """
    (x,) = inputs
    share, density = {"erf": normal_by_erf, "tanh": normal_by_tanh}[attributes["approximation"]](x)

    def backward(dy):
        return [dy * (share + x * density)], {}

    return x * share, backward


def normal_by_erf(x):
    """Return Phi and its derivative. (1 + erf(z)) / 2 is erfc(-z) / 2, which keeps its digits where Phi is tiny.

    The standard library has erfc for one number only; NumPy has none.
    """
    scaled = (-x / math.sqrt(2.0)).ravel()
    share = 0.5 * numpy.fromiter(map(math.erfc, scaled), numpy.float64, scaled.size).reshape(x.shape)
    return share, numpy.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def normal_by_tanh(x):
    """Return the approximate Phi and its derivative, (1 - tanh(u)^2) / 2 * du/dx."""
    slope = math.sqrt(2.0 / math.pi)
    t = numpy.tanh(slope * (x + 0.044715 * x**3))
    return 0.5 * (1.0 + t), 0.5 * (1.0 - t * t) * slope * (1.0 + 3.0 * 0.044715 * x * x)
