"""Ops on images, (channels, height, width): convolution, pooling, normalisation across channels."""

from host.graph.ops.table import Made, flag, image, number, one_of, op, positive, spread, whole, with_bias


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
    one_of("rounding", rounding, ("floor", "ceil"))
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
    flag("count_padding", count_padding)
    output_shape, attributes = pooling(shape, kernel, stride, padding, rounding)
    return Made(output_shape, dict(attributes, count_padding=count_padding))


@op()
def global_avg_pool(shape):
    """Mean over height and width: (channels,)."""
    return Made((image(shape)[0],))


@op()
def local_response_norm(shape, size=5, alpha=1e-4, beta=0.75, k=1.0):
    """x / (k + alpha / size * sum of x^2 over `size` neighbouring channels) ^ beta; alpha is divided by the size."""
    size = whole("size", size)
    if size % 2 == 0:
        raise ValueError("size is {}; it must be odd: as many neighbours on either side".format(size))
    attributes = {"size": size, "alpha": number("alpha", alpha, 0.0, 1e3), "beta": number("beta", beta, 0.0, 1e3)}
    return Made(image(shape), dict(attributes, k=positive("k", k, 1e3)))
