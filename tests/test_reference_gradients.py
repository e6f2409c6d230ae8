"""Every op of the float64 reference by central differences, as examples and over shapes and attributes drawn at random.

No adapter and no framework is imported: the only judge is the op's own forward pass.
"""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from central_differences import check_gradients, made
from host.graph.ops import OPS as HOST_OPS
from worker.reference import OPS

CASES = {
    "dense": (lambda g, x: g.dense(x, 3), (5,)),
    "dense without bias": (lambda g, x: g.dense(x, 3, bias=False), (5,)),
    "dense at positions": (lambda g, x: g.dense(x, 3), (4, 5)),
    "conv2d": (lambda g, x: g.conv2d(x, 3, (3, 2), stride=(2, 1), padding=(1, 2, 0, 1)), (2, 5, 4)),
    "conv2d, strides leave a rest": (lambda g, x: g.conv2d(x, 2, 2, stride=3, bias=False), (1, 7, 6)),
    "conv2d, groups": (lambda g, x: g.conv2d(x, 6, 3, padding=1, groups=3), (3, 3, 4)),
    "conv2d, groups of several": (lambda g, x: g.conv2d(x, 6, 2, groups=2, padding=(0, 1, 1, 0)), (4, 3, 4)),
    "max_pool2d": (lambda g, x: g.max_pool2d(x, 3, stride=2, padding=(1, 0, 0, 1)), (2, 5, 4)),
    "max_pool2d, ceil": (lambda g, x: g.max_pool2d(x, 2, stride=2, rounding="ceil"), (2, 5, 3)),
    "avg_pool2d, counted": (lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1), (2, 5, 4)),
    "avg_pool2d, not counted": (lambda g, x: g.avg_pool2d(x, (2, 3), padding=1, count_padding=False), (2, 5, 4)),
    "avg_pool2d, ceil": (lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1, rounding="ceil"), (1, 4, 6)),
    "global_avg_pool": (lambda g, x: g.global_avg_pool(x), (3, 5, 2)),
    "local_response_norm": (lambda g, x: g.local_response_norm(x, 3, alpha=2.0, beta=0.75, k=1.5), (5, 2, 3)),
    "local_response_norm, wider": (lambda g, x: g.local_response_norm(x, 7, alpha=3.0, beta=0.5, k=0.5), (4, 2, 2)),
    "relu": (lambda g, x: g.relu(x), (3, 5, 2)),
    "sigmoid": (lambda g, x: g.sigmoid(x), (7,)),
    "tanh": (lambda g, x: g.tanh(x), (7,)),
    "gelu, erf": (lambda g, x: g.gelu(x, "erf"), (9, 11)),
    "gelu, tanh": (lambda g, x: g.gelu(x, "tanh"), (9, 11)),
    "dropout": (lambda g, x: g.dropout(x, 0.4), (9,)),
    "dropout of sequences": (lambda g, x: g.dropout(x, 0.4), (3, 4)),
    "batch_norm of images": (lambda g, x: g.batch_norm(x), (3, 2, 5)),
    "batch_norm of vectors": (lambda g, x: g.batch_norm(x, epsilon=0.1), (4,)),
    "layer_norm of sequences": (lambda g, x: g.layer_norm(x, epsilon=0.1), (3, 5)),
    "layer_norm of vectors": (lambda g, x: g.layer_norm(x), (6,)),
    "add": (lambda g, x: g.add(x, g.relu(x)), (3, 2, 2)),
    "add of sequences": (lambda g, x: g.add(x, g.relu(x)), (3, 2)),
    "multiply": (lambda g, x: g.multiply(x, g.relu(x)), (3, 2, 2)),
    "concat": (lambda g, x: g.concat(x, g.conv2d(x, 3, 1), g.relu(x)), (2, 3, 2)),
    "concat of sequences": (lambda g, x: g.concat(x, g.dense(x, 3), axis=1), (4, 2)),
    "flatten": (lambda g, x: g.flatten(x), (3, 2, 4)),
    "flatten of sequences": (lambda g, x: g.flatten(x), (3, 4)),
    "reshape": (lambda g, x: g.reshape(x, (4, 6)), (3, 2, 4)),
    "position_embedding": (lambda g, x: g.position_embedding(x), (4, 3)),
    "lstm": (lambda g, x: g.lstm(x, 4), (5, 3)),
    "attention": (lambda g, x: g.attention(x, 2, causal=False), (4, 12)),
    "attention, causal": (lambda g, x: g.attention(x, 3, causal=True), (4, 9)),
}
WITH_CLASSES = {"embedding": (lambda g, x: g.embedding(x, 5, 3), (4,), 5)}
WITH_TARGETS = {
    "softmax_cross_entropy": ((5,), [0, 4, 4, 1, 0, 4]),
    "softmax_cross_entropy of sequences": ((3, 5), [[0, 4, 4], [1, 0, 4]]),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_the_central_differences(case):
    define, shape = CASES[case]
    check_gradients(define, shape, batch=4)


@pytest.mark.parametrize("case", WITH_CLASSES)
def test_parameters_of_ops_that_read_classes_have_the_gradients_of_central_differences(case):
    define, shape, classes = WITH_CLASSES[case]
    check_gradients(define, shape, batch=4, classes=classes)


@pytest.mark.parametrize("case", WITH_TARGETS)
def test_loss_has_the_gradients_of_its_central_differences(case):
    shape, targets = WITH_TARGETS[case]
    check_gradients(lambda g, x: g.softmax_cross_entropy(x), shape, batch=len(targets), targets=numpy.array(targets))


@pytest.mark.parametrize("shape", [(3, 2, 5), (4,)])
def test_batch_norm_in_evaluation_has_the_gradients_of_constant_statistics(shape):
    check_gradients(lambda g, x: g.batch_norm(x), shape, training=False)


def test_every_op_of_the_host_has_a_meaning_and_a_gradient_test():
    tested = {made(define, shape)[1]["op"] for define, shape in CASES.values()}
    tested |= {made(define, shape, classes)[1]["op"] for define, shape, classes in WITH_CLASSES.values()}
    tested |= {made(lambda g, x: g.softmax_cross_entropy(x), shape)[1]["op"] for shape, _ in WITH_TARGETS.values()}
    assert set(OPS) == set(HOST_OPS) == tested


# ---------------------------------------------------------------- any shape, any attribute

any_case = settings(max_examples=25, deadline=None, derandomize=True)
few = some.integers(1, 4)


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
    if kind == "conv2d":
        more["groups"] = data.draw(some.sampled_from([1, 2]))
    else:
        more["rounding"] = data.draw(some.sampled_from(["floor", "ceil"]))
    if kind == "avg_pool2d":
        more["count_padding"] = data.draw(some.booleans())
    first = [2] if kind == "conv2d" else []
    check_gradients(lambda g, x: getattr(g, kind)(x, *first, kernel, **more), shape, batch=1)


@any_case
@given(batch=few, positions=few, width=few, units=few, seed=some.integers(0, 99))
def test_lstm_of_any_shape(batch, positions, width, units, seed):
    check_gradients(lambda g, x: g.lstm(x, units), (positions, width), batch, seed=seed)


@any_case
@given(batch=some.integers(1, 2), positions=few, heads=few, size=few, causal=some.booleans())
def test_attention_of_any_shape(batch, positions, heads, size, causal):
    shape = (positions, 3 * heads * size)
    check_gradients(lambda g, x: g.attention(x, heads, causal), shape, batch)


@any_case
@given(shape=some.lists(some.integers(1, 5), min_size=1, max_size=2), epsilon=some.floats(1e-3, 0.9))
def test_layer_norm_of_any_shape(shape, epsilon):
    check_gradients(lambda g, x: g.layer_norm(x, epsilon), tuple(shape), batch=3)


@any_case
@given(
    channels=some.integers(1, 6),
    size=some.sampled_from([1, 3, 5, 9]),
    alpha=some.floats(0.0, 5.0),
    beta=some.floats(0.0, 2.0),
    k=some.floats(0.2, 3.0),
)
def test_local_response_norm_of_any_attributes(channels, size, alpha, beta, k):
    check_gradients(lambda g, x: g.local_response_norm(x, size, alpha, beta, k), (channels, 2, 2), batch=3)


@any_case
@given(shape=some.lists(few, min_size=1, max_size=3), count=some.integers(2, 4), data=some.data())
def test_concat_of_any_values_along_any_axis(shape, count, data):
    """The op reads values of one shape here; CASES has values of different lengths."""
    axis = data.draw(some.integers(0, len(shape) - 1))
    check_gradients(lambda g, x: g.concat(*[x] * count, axis=axis), tuple(shape), batch=2)


@any_case
@given(batch=few, positions=few, vocabulary=some.integers(2, 6), width=few, seed=some.integers(0, 99))
def test_embedding_of_any_classes(batch, positions, vocabulary, width, seed):
    """Few classes and many positions: most classes occur several times or never."""
    check_gradients(lambda g, x: g.embedding(x, vocabulary, width), (positions,), batch, seed=seed, classes=vocabulary)


@any_case
@given(positions=few, inputs=few, units=few, bias=some.booleans())
def test_dense_at_any_positions(positions, inputs, units, bias):
    check_gradients(lambda g, x: g.dense(x, units, bias=bias), (positions, inputs), batch=3)


@any_case
@given(positions=few, classes=some.integers(2, 6), seed=some.integers(0, 99))
def test_loss_of_any_classes_at_any_positions(positions, classes, seed):
    targets = numpy.random.RandomState(seed).randint(0, classes, (3, positions))
    check_gradients(lambda g, x: g.softmax_cross_entropy(x), (positions, classes), batch=3, targets=targets)
