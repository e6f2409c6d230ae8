"""The float64 reference: every op by central differences, values by hand, near ties."""

import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from host.graph.build import Builder
from host.graph.ops import OPS as HOST_OPS
from worker.reference import OPS, perturbation
from worker.reference.network import Context
from worker.reference.normalization import exact_sum

STEP = 1e-5  # of the central differences: truncation about 1e-11, rounding about 1e-10


def context(training=True, targets=None, total=exact_sum, running_variance="biased", watching=False):
    return Context(training, targets, total, running_variance, numpy.random.RandomState(0), watching)


def relative_error(found, expected):
    scale = numpy.linalg.norm(expected)
    return numpy.linalg.norm(numpy.asarray(found) - expected) / (scale if scale > 1e-12 else 1.0)


def spread_values(generator, shape):
    """Return values no two of which, and none of which and 0, are closer than 0.01: no step crosses a kink."""
    count = math.prod(shape)
    return ((generator.permutation(count) - count // 2 + 0.5) * 0.02).reshape(shape)


def differences(function, array):
    """Return the central differences of a number-valued function to each element of an array, changed in place."""
    found = numpy.empty_like(array)
    flat, result = array.reshape(-1), found.reshape(-1)
    for index in range(flat.size):
        start = flat[index]
        flat[index] = start + STEP
        above = function()
        flat[index] = start - STEP
        result[index] = (above - function()) / (2 * STEP)
        flat[index] = start
    return found


def check_gradients(define, shape, batch=2, training=True, seed=0, targets=None):
    """Compare an op's backward with central differences of sum(weight * output), for random weights of the output."""
    g = Builder()
    define(g, g.input(shape))
    entry = g.ops[-1]
    generator = numpy.random.RandomState(seed)
    inputs = [spread_values(generator, (batch, *shape)) for _ in range(HOST_OPS[entry["op"]].inputs)]
    tensors = {role: generator.uniform(0.5, 1.5, tensor.shape) for made, role, tensor in g.tensors if made is entry}
    buffers = {role: tensors[role].copy() for role in entry["buffers"]}

    def forward():
        tensors.update((role, values.copy()) for role, values in buffers.items())
        return OPS[entry["op"]](inputs, entry["attributes"], tensors, context(training, targets))

    output, backward = forward()
    assert list(numpy.shape(output)[1:]) == entry["output_shape"]
    importance = generator.uniform(0.5, 1.5, numpy.shape(output))
    to_inputs, to_parameters = backward(importance)
    assert set(to_parameters) == set(entry["parameters"])

    def total():
        return float((forward()[0] * importance).sum())

    for values, gradient in zip(inputs, to_inputs, strict=True):
        assert relative_error(gradient, differences(total, values)) < 1e-7
    for role, gradient in to_parameters.items():
        assert relative_error(gradient, differences(total, tensors[role])) < 1e-7, role


CASES = {
    "dense": (lambda g, x: g.dense(x, 3), (5,)),
    "dense without bias": (lambda g, x: g.dense(x, 3, bias=False), (5,)),
    "conv2d": (lambda g, x: g.conv2d(x, 3, (3, 2), stride=(2, 1), padding=(1, 2, 0, 1)), (2, 5, 4)),
    "conv2d, strides leave a rest": (lambda g, x: g.conv2d(x, 2, 2, stride=3, bias=False), (1, 7, 6)),
    "conv2d, groups": (lambda g, x: g.conv2d(x, 6, 3, padding=1, groups=3), (3, 3, 4)),
    "max_pool2d": (lambda g, x: g.max_pool2d(x, 3, stride=2, padding=(1, 0, 0, 1)), (2, 5, 4)),
    "max_pool2d, ceil": (lambda g, x: g.max_pool2d(x, 2, stride=2, rounding="ceil"), (2, 5, 3)),
    "avg_pool2d, counted": (lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1), (2, 5, 4)),
    "avg_pool2d, not counted": (lambda g, x: g.avg_pool2d(x, (2, 3), padding=1, count_padding=False), (2, 5, 4)),
    "avg_pool2d, ceil": (lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1, rounding="ceil"), (1, 4, 6)),
    "global_avg_pool": (lambda g, x: g.global_avg_pool(x), (3, 5, 2)),
    "relu": (lambda g, x: g.relu(x), (3, 5, 2)),
    "sigmoid": (lambda g, x: g.sigmoid(x), (7,)),
    "tanh": (lambda g, x: g.tanh(x), (7,)),
    "dropout": (lambda g, x: g.dropout(x, 0.4), (9,)),
    "batch_norm of images": (lambda g, x: g.batch_norm(x), (3, 2, 5)),
    "batch_norm of vectors": (lambda g, x: g.batch_norm(x, epsilon=0.1), (4,)),
    "add": (lambda g, x: g.add(x, g.relu(x)), (3, 2, 2)),
    "flatten": (lambda g, x: g.flatten(x), (3, 2, 4)),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_the_central_differences(case):
    define, shape = CASES[case]
    check_gradients(define, shape, batch=4)


@pytest.mark.parametrize("shape", [(3, 2, 5), (4,)])
def test_batch_norm_in_evaluation_has_the_gradients_of_constant_statistics(shape):
    check_gradients(lambda g, x: g.batch_norm(x), shape, training=False)


def test_loss_has_the_gradients_of_its_central_differences():
    check_gradients(lambda g, x: g.softmax_cross_entropy(x), (5,), batch=6, targets=numpy.array([0, 4, 4, 1, 0, 4]))


def test_every_op_of_the_host_has_a_meaning_and_a_gradient_test():
    assert set(OPS) == set(HOST_OPS)
    assert {case.split(",")[0].split(" ")[0] for case in CASES} | {"softmax_cross_entropy"} == set(OPS)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=some.data())
def test_windows_of_any_geometry_have_right_shapes_and_gradients(data):
    """Also holds host and reference, which count windows by code of their own, to the same shapes."""
    length = some.integers(1, 6)
    shape = (2, data.draw(length), data.draw(length))
    kernel = [data.draw(some.integers(1, size)) for size in shape[1:]]
    stride = [data.draw(some.integers(1, 3)) for _ in range(2)]
    padding = [data.draw(some.integers(0, kernel[axis // 2] - 1)) for axis in range(4)]
    kind = data.draw(some.sampled_from(["conv2d", "max_pool2d", "avg_pool2d"]))
    more = {"stride": stride, "padding": padding}
    if kind != "conv2d":
        more["rounding"] = data.draw(some.sampled_from(["floor", "ceil"]))
    if kind == "avg_pool2d":
        more["count_padding"] = data.draw(some.booleans())
    first = [2] if kind == "conv2d" else []
    check_gradients(lambda g, x: getattr(g, kind)(x, *first, kernel, **more), shape, batch=1)


# ---------------------------------------------------------------- values by hand


def forward(define, x, tensors=None, **options):
    g = Builder()
    define(g, g.input(x.shape[1:]))
    entry = g.ops[-1]
    return OPS[entry["op"]]([x], entry["attributes"], tensors or {}, context(**options))


SQUARE = numpy.arange(1.0, 10.0).reshape(1, 1, 3, 3)  # 1 2 3 / 4 5 6 / 7 8 9


@pytest.mark.parametrize(
    ("define", "expected"),
    [
        (lambda g, x: g.max_pool2d(x, 2), [[5]]),
        (lambda g, x: g.max_pool2d(x, 2, rounding="ceil"), [[5, 6], [8, 9]]),
        (lambda g, x: g.avg_pool2d(x, 2, rounding="ceil"), [[3, 4.5], [7.5, 9]]),  # what ceil adds never counts
        (lambda g, x: g.avg_pool2d(x, 2, padding=(1, 0, 1, 0)), [[0.25, 1.25], [2.75, 7]]),
        (lambda g, x: g.avg_pool2d(x, 2, padding=(1, 0, 1, 0), count_padding=False), [[1, 2.5], [5.5, 7]]),
        (lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1), [[12 / 9, 16 / 9], [24 / 9, 28 / 9]]),
    ],
)
def test_pooling_by_hand(define, expected):
    numpy.testing.assert_allclose(forward(define, SQUARE)[0][0, 0], expected, rtol=1e-15)


def test_convolution_does_not_flip_its_kernel_and_pads_where_it_says():
    weight = numpy.array([[[[1.0, 10.0], [100.0, 1000.0]]]])
    y, _ = forward(
        lambda g, x: g.conv2d(x, 1, 2, stride=2, padding=(1, 0, 0, 1), bias=False), SQUARE, {"weight": weight}
    )
    assert y[0, 0].tolist() == [[2100.0, 300.0], [8754.0, 906.0]]


def test_padding_never_wins_a_maximum():
    y, _ = forward(lambda g, x: g.max_pool2d(x, 3, padding=1), -SQUARE)
    assert y[0, 0].tolist() == [[-1.0]]


def test_relu_has_slope_0_at_0_and_of_equal_maxima_the_first_has_the_gradient():
    _, backward = forward(lambda g, x: g.relu(x), numpy.array([[-1.0, 0.0, 2.0]]))
    assert backward(numpy.ones((1, 3)))[0][0].tolist() == [[0.0, 0.0, 1.0]]
    _, backward = forward(lambda g, x: g.max_pool2d(x, 2), numpy.full((1, 1, 2, 2), 3.0))
    assert backward(numpy.ones((1, 1, 1, 1)))[0][0][0, 0].tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_loss_and_sigmoid_survive_large_numbers():
    logits = numpy.array([[1000.0, 0.0], [0.0, -1000.0]])
    loss, backward = forward(lambda g, x: g.softmax_cross_entropy(x), logits, targets=numpy.array([1, 0]))
    assert loss == 500.0
    assert backward(1.0)[0][0].tolist() == [[0.5, -0.5], [0.0, 0.0]]
    with numpy.errstate(all="raise", under="ignore"):
        y, _ = forward(lambda g, x: g.sigmoid(x), numpy.array([[-800.0, 0.0, 800.0]]))
    assert y.tolist() == [[0.0, 0.5, 1.0]]


def test_dropout_scales_what_it_keeps_and_is_the_identity_in_evaluation():
    x = numpy.ones((10, 10_000))
    y, backward = forward(lambda g, x: g.dropout(x, 0.3), x)
    kept = 1 / (1 - 0.3)
    assert set(numpy.unique(y)) == {0.0, kept}
    deviation = math.sqrt(0.3 / 0.7)  # of one element
    assert y.mean() == pytest.approx(1.0, abs=4 * deviation / math.sqrt(x.size))
    assert y.var() == pytest.approx(0.3 / 0.7, rel=0.02)
    assert (backward(x)[0][0] == y).all(), "forward and backward must use one mask"
    assert (forward(lambda g, x: g.dropout(x, 0.3), x, training=False)[0] == x).all()


# ---------------------------------------------------------------- batch normalisation


@pytest.mark.parametrize(("form", "factor"), [("biased", 1.0), ("unbiased", 30 / 29)])
def test_running_statistics_approach_the_batchs(form, factor):
    x = numpy.random.RandomState(1).normal(3.0, 2.0, (6, 4, 5, 1))
    tensors = {"gamma": numpy.ones(4), "beta": numpy.zeros(4)}
    tensors["running_mean"], tensors["running_variance"] = numpy.full(4, 0.5), numpy.full(4, 7.0)
    for _ in range(3):
        forward(lambda g, x: g.batch_norm(x), x, tensors, running_variance=form)
    mean, variance = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    kept = 0.9**3
    assert relative_error(tensors["running_mean"], kept * 0.5 + (1 - kept) * mean) < 1e-14
    assert relative_error(tensors["running_variance"], kept * 7.0 + (1 - kept) * factor * variance) < 1e-14


def test_evaluation_uses_the_running_statistics_and_leaves_them():
    x = numpy.random.RandomState(1).normal(3.0, 2.0, (6, 2))
    tensors = {"gamma": numpy.array([2.0, 3.0]), "beta": numpy.array([0.5, -0.5])}
    tensors["running_mean"], tensors["running_variance"] = numpy.array([1.0, 2.0]), numpy.array([4.0, 9.0])
    y, _ = forward(lambda g, x: g.batch_norm(x, epsilon=0.25), x, tensors, training=False)
    assert relative_error(y, [2.0, 3.0] * (x - [1.0, 2.0]) / numpy.sqrt([4.25, 9.25]) + [0.5, -0.5]) < 1e-14
    assert tensors["running_mean"].tolist() == [1.0, 2.0] and tensors["running_variance"].tolist() == [4.0, 9.0]


def test_disturbed_sums_are_wrong_by_one_sign_a_channel_times_the_bound():
    terms = numpy.random.RandomState(2).normal(size=(6, 64, 5, 3))
    off = perturbation.Sums(numpy.random.RandomState(0))(terms) - exact_sum(terms)
    bound = 2.0**-24 * math.sqrt(90) * exact_sum(numpy.abs(terms))
    assert off.shape == (1, 64, 1, 1)
    assert numpy.abs(off) == pytest.approx(bound, rel=1e-6)  # off is the difference of two nearly equal sums
    assert 10 < (off > 0).sum() < 54


def test_disturbed_elements_are_one_float32_step_off():
    values = numpy.linspace(1, 2, 1000, dtype=numpy.float32)
    ratio = perturbation.elements(values, numpy.random.RandomState(0)) / values
    assert set(numpy.round((ratio - 1) / 2.0**-23, 6)) == {-1.0, 1.0}


# ---------------------------------------------------------------- near ties


def test_smallest_gap_is_the_relu_input_nearest_to_0_in_root_mean_squares():
    watched = context(watching=True)
    OPS["relu"]([numpy.array([[3.0, -0.004, 4.0]])], {}, {}, watched)
    assert watched.smallest_gap == pytest.approx(0.004 / math.sqrt((9 + 16 + 0.004**2) / 3))


def test_smallest_gap_is_the_smallest_lead_of_a_maximum_dead_windows_apart():
    attributes = {"kernel": [1, 2], "stride": [1, 2], "padding": [0, 0, 0, 0], "rounding": "floor"}
    x = numpy.array([[[[1.0, 1.5, 0.0, 0.0, 2.0, 2.25]]]])
    watched = context(watching=True)
    OPS["max_pool2d"]([x], attributes, {}, watched)
    assert watched.smallest_gap == pytest.approx(0.25 / math.sqrt((x * x).mean()))
    x[0, 0, 0, :2] = 1.0
    OPS["max_pool2d"]([x], attributes, {}, watched)
    assert watched.smallest_gap == 0.0
