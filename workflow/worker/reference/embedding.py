"""embedding and position_embedding: a learned row for each class, and a learned row for each position."""

import numpy


def embedding(inputs, attributes, tensors, context):
    """y[n, t, e] = weight[x[n, t], e]; x holds classes (tokens), whole numbers from 0 to vocabulary - 1.

    dweight[v, e] = sum over all (n, t) with x[n, t] = v of dy[n, t, e]; a class has no gradient.
    Source: Bengio et al. 2003, "A neural probabilistic language model", section 2.
    raises ValueError for a class that is no whole number or that the vocabulary does not have.
    """
    (x,) = inputs
    weight = tensors["weight"]
    if x.dtype.kind not in "iu" or x.min() < 0 or x.max() >= len(weight):  # NumPy counts negative ones from the end
        problem = "embedding: the classes are {} from {} to {}; they must be whole numbers from 0 to {}"
        raise ValueError(problem.format(x.dtype, x.min(), x.max(), len(weight) - 1))

    def backward(dy):
        to_weight = numpy.zeros_like(weight)
        numpy.add.at(to_weight, x, dy)  # unlike to_weight[x] += dy, it counts a class as often as it occurs
        return [None], {"weight": to_weight}

    return weight[x], backward


def position_embedding(inputs, attributes, tensors, context):
    """y[n, t, e] = x[n, t, e] + weight[t, e]; dweight[t, e] = sum over n of dy[n, t, e].

    Source: Gehring et al. 2017, "Convolutional sequence to sequence learning", section 3.1.
    """
    (x,) = inputs

    def backward(dy):
        return [dy], {"weight": dy.sum(axis=0)}

    return x + tensors["weight"], backward
