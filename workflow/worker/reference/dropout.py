"""dropout: in training some elements are set to 0, and the others make up for them."""


def dropout(inputs, attributes, tensors, context):
    """In training y[...] = x[...] * mask[...] / (1 - rate), mask 1 with probability 1 - rate, else 0; else y = x.

    Every element of every sample has a mask of its own, drawn anew each time; the gradient goes through the same mask.

    Source: Srivastava et al. 2014, "Dropout", JMLR 15, in its inverted form, so that evaluation needs no scaling.
    """
    (x,) = inputs
    rate = attributes["rate"]
    if not context.training or rate == 0.0:
        return x, lambda dy: ([dy], {})
    scale = (context.generator.random_sample(x.shape) >= rate) / (1.0 - rate)

    def backward(dy):
        return [dy * scale], {}

    return x * scale, backward
