"""The float64 reference: what ops on images and vectors compute, by hand; near ties; the gate's disturbances.

Gradients are in test_reference_gradients.py, ops on sequences in test_reference_sequences.py.
"""

import math

import numpy
import pytest

from central_differences import context, forward, relative_error
from worker.reference import OPS, perturbation
from worker.reference.normalization import exact_sum

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
