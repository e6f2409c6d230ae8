"""The float64 reference: ops on sequences and classes, normalisation and arrangement, by hand, a number at a time."""

import math

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from central_differences import forward, relative_error
from worker.reference import OPS

few = some.integers(1, 4)


def random(seed, *shape):
    return numpy.random.RandomState(seed).normal(size=shape)


# ---------------------------------------------------------------- lstm


def lstm(x, tensors):
    return forward(lambda g, x: g.lstm(x, tensors["weight_hidden"].shape[1]), x, tensors)[0]


def lstm_tensors(width, units, seed=1):
    shapes = {"weight_input": (4 * units, width), "weight_hidden": (4 * units, units), "bias": (4 * units,)}
    return {role: random(seed + number, *shape) for number, (role, shape) in enumerate(shapes.items())}


def one_unit(x, z_of):
    """Return the hidden states of one sample and one unit; z_of(gate, x, h) is what enters gate 0 to 3."""
    h = c = 0.0
    states = []
    for each in x:
        i, f, o = (1 / (1 + math.exp(-z_of(gate, each, h))) for gate in (0, 1, 3))
        c = f * c + i * math.tanh(z_of(2, each, h))
        h = o * math.tanh(c)
        states.append(h)
    return states


def test_lstm_of_one_unit_by_hand():
    tensors = {
        "weight_input": numpy.array([[0.5], [-0.25], [2.0], [1.5]]),
        "weight_hidden": numpy.array([[1.0], [3.0], [-2.0], [0.5]]),
        "bias": numpy.array([0.1, 0.2, 0.3, 0.4]),
    }
    x = [0.7, -1.2, 2.5]
    expected = one_unit(
        x,
        lambda gate, each, h: (
            tensors["weight_input"][gate, 0] * each + tensors["weight_hidden"][gate, 0] * h + tensors["bias"][gate]
        ),
    )
    assert lstm(numpy.array(x).reshape(1, 3, 1), tensors)[0, :, 0] == pytest.approx(expected, rel=1e-14)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(batch=few, positions=few, width=few, units=few)
def test_lstm_is_its_formulas_one_number_at_a_time(batch, positions, width, units):
    x, tensors = random(0, batch, positions, width), lstm_tensors(width, units)
    weight_input, weight_hidden, bias = (tensors[role] for role in ("weight_input", "weight_hidden", "bias"))
    expected = numpy.zeros((batch, positions, units))
    for n in range(batch):
        h, c = [0.0] * units, [0.0] * units
        for t in range(positions):
            z = [
                sum(weight_input[k, j] * x[n, t, j] for j in range(width))
                + sum(weight_hidden[k, j] * h[j] for j in range(units))
                + bias[k]
                for k in range(4 * units)
            ]
            i, f, o = ([1 / (1 + math.exp(-z[gate * units + u])) for u in range(units)] for gate in (0, 1, 3))
            c = [f[u] * c[u] + i[u] * math.tanh(z[2 * units + u]) for u in range(units)]
            h = [o[u] * math.tanh(c[u]) for u in range(units)]
            expected[n, t] = h
    assert relative_error(lstm(x, tensors), expected) < 1e-14


def test_lstm_keeps_its_state_behind_an_open_forget_gate_and_a_closed_input_gate():
    """Position 0 opens the input gate, later ones close it: the content stays and every position shows it."""
    tensors = {"weight_input": numpy.array([[800.0], [0.0], [0.0], [0.0]]), "weight_hidden": numpy.zeros((4, 1))}
    tensors["bias"] = numpy.array([0.0, 800.0, 0.5, 800.0])
    with numpy.errstate(all="raise", under="ignore"):
        y = lstm(numpy.array([1.0, -1.0, -1.0, -1.0]).reshape(1, 4, 1), tensors)
    assert y[0, :, 0] == pytest.approx([math.tanh(math.tanh(0.5))] * 4, rel=1e-15)


def test_lstm_reads_forwards_and_no_sample_sees_another():
    x, tensors = random(0, 3, 5, 2), lstm_tensors(2, 4)
    before = lstm(x, tensors)
    changed = x.copy()
    changed[1, 3] += 1.0
    differs = (lstm(changed, tensors) != before).any(axis=2)
    assert differs.tolist() == [[False] * 5, [False, False, False, True, True], [False] * 5]


# ---------------------------------------------------------------- attention


def attention(x, heads, causal):
    return forward(lambda g, x: g.attention(x, heads, causal), x)[0]


@settings(max_examples=15, deadline=None, derandomize=True)
@given(batch=few, positions=few, heads=few, size=few, causal=some.booleans())
def test_attention_is_its_formulas_one_number_at_a_time(batch, positions, heads, size, causal):
    width = heads * size
    x = random(0, batch, positions, 3 * width)
    expected = numpy.zeros((batch, positions, width))
    for n in range(batch):
        for head in range(heads):
            columns = range(head * size, (head + 1) * size)
            for t in range(positions):
                seen = range(t + 1 if causal else positions)
                scores = [sum(x[n, t, e] * x[n, s, width + e] for e in columns) / math.sqrt(size) for s in seen]
                total = sum(math.exp(score) for score in scores)
                for e in columns:
                    terms = (math.exp(scores[s]) / total * x[n, s, 2 * width + e] for s in seen)
                    expected[n, t, e] = sum(terms)
    assert relative_error(attention(x, heads, causal), expected) < 1e-14


def test_causal_attention_sees_itself_and_what_is_before():
    x = random(0, 2, 5, 12)
    before = attention(x, 2, causal=True)
    assert (before[:, 0] == x[:, 0, 8:]).all(), "the first position has nothing but its own value"
    changed = x.copy()
    changed[0, 3] += 1.0
    differs = (attention(changed, 2, causal=True) != before).any(axis=2)
    assert differs.tolist() == [[False, False, False, True, True], [False] * 5]
    assert (attention(changed, 2, causal=False) != attention(x, 2, causal=False))[0].all()


def test_attention_that_finds_all_keys_alike_takes_the_mean():
    x = random(0, 1, 4, 6)
    x[:, :, 2:4] = [3.0, -1.0]
    assert attention(x, 1, causal=False)[0] == pytest.approx(numpy.tile(x[0, :, 4:].mean(axis=0), (4, 1)), rel=1e-14)


def test_attention_survives_large_scores():
    x = numpy.array([[[1000.0, 1000.0, 7.0], [1000.0, 0.0, 5.0]]])
    with numpy.errstate(all="raise", under="ignore"):
        assert attention(x, 1, causal=False)[0].tolist() == [[7.0], [7.0]]


# ---------------------------------------------------------------- embeddings and the loss at positions


def test_embedding_looks_rows_up_and_a_row_that_is_read_twice_has_both_gradients():
    weight = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y, backward = forward(lambda g, x: g.embedding(x, 3, 2), numpy.array([[2, 0, 2]]), {"weight": weight})
    assert y.tolist() == [[[5.0, 6.0], [1.0, 2.0], [5.0, 6.0]]]
    to_inputs, to_parameters = backward(numpy.array([[[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]]]))
    assert to_inputs == [None]
    assert to_parameters["weight"].tolist() == [[2.0, 20.0], [0.0, 0.0], [5.0, 50.0]]


@pytest.mark.parametrize("x", [[[0, 3]], [[0, -1]], [[0.0, 1.0]]])
def test_embedding_refuses_what_is_no_class(x):
    with pytest.raises(ValueError, match="they must be whole numbers from 0 to 2"):
        OPS["embedding"]([numpy.array(x)], {}, {"weight": numpy.ones((3, 2))}, None)


def test_position_embedding_adds_a_row_to_each_position_of_every_sample():
    y, backward = forward(lambda g, x: g.position_embedding(x), numpy.ones((2, 3, 1)), {"weight": numpy.c_[[1, 2, 4]]})
    assert y[:, :, 0].tolist() == [[2, 3, 5], [2, 3, 5]]
    assert backward(numpy.arange(6.0).reshape(2, 3, 1))[1]["weight"].tolist() == [[3.0], [5.0], [7.0]]


def test_loss_of_sequences_is_the_mean_over_samples_and_positions():
    logits, targets = random(0, 3, 4, 5), numpy.random.RandomState(1).randint(0, 5, (3, 4))
    loss, backward = forward(lambda g, x: g.softmax_cross_entropy(x), logits, targets=targets)
    flat, flat_backward = forward(
        lambda g, x: g.softmax_cross_entropy(x), logits.reshape(12, 5), targets=targets.reshape(12)
    )
    chances = numpy.exp(logits) / numpy.exp(logits).sum(axis=2, keepdims=True)
    by_hand = [-math.log(chances[n, t, targets[n, t]]) for n in range(3) for t in range(4)]
    assert loss == flat == pytest.approx(sum(by_hand) / 12, rel=1e-14)
    assert (backward(1.0)[0][0].reshape(12, 5) == flat_backward(1.0)[0][0]).all()


@pytest.mark.parametrize(("logits", "targets"), [((3, 4, 5), (3,)), ((3, 5), (3, 1)), ((3, 4, 5), (4, 3))])
def test_loss_refuses_targets_of_another_shape(logits, targets):
    with pytest.raises(ValueError, match="the targets have shape"):
        forward(lambda g, x: g.softmax_cross_entropy(x), numpy.zeros(logits), targets=numpy.zeros(targets, numpy.int64))


# ---------------------------------------------------------------- gelu, normalisation, arrangement


@pytest.mark.parametrize(
    ("approximation", "expected"),
    [
        # x * Phi(x) with Phi from a table of the normal distribution; a share that (1 + erf) / 2 would round to 0
        ("erf", {1.0: 0.8413447460685429, -2.0: -2 * 0.022750131948179207, -10.0: -10 * 7.619853024160527e-24}),
        ("tanh", {1.0: 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * 1.044715)), 0.0: 0.0}),
    ],
)
def test_gelu_by_hand_and_far_out(approximation, expected):
    x = numpy.array([[*expected, -1000.0, 1000.0]])
    with numpy.errstate(all="raise", under="ignore"):
        y, backward = forward(lambda g, x: g.gelu(x, approximation), x)
        slope = backward(numpy.ones_like(x))[0][0]
    assert y[0] == pytest.approx([*expected.values(), 0.0, 1000.0], rel=1e-13)
    assert slope[0, -2:].tolist() == [0.0, 1.0]


def test_the_two_gelus_are_near_each_other_and_not_the_same():
    x = numpy.linspace(-4, 4, 101).reshape(1, -1)
    by_erf, by_tanh = (forward(lambda g, x, kind=kind: g.gelu(x, kind), x)[0] for kind in ("erf", "tanh"))
    assert 1e-4 < numpy.abs(by_erf - by_tanh).max() < 1e-3


def test_layer_norm_by_hand():
    tensors = {"gamma": numpy.array([1.0, 2.0, 3.0]), "beta": numpy.array([0.5, 0.0, -0.5])}
    x = numpy.array([[[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]]])  # mean 3, variance (4 + 1 + 9) / 3; and a constant
    y, _ = forward(lambda g, x: g.layer_norm(x, epsilon=0.25), x, tensors)
    deviation = math.sqrt(14 / 3 + 0.25)
    assert y[0, 0] == pytest.approx([-2 / deviation + 0.5, -2 / deviation, 9 / deviation - 0.5], rel=1e-14)
    assert y[0, 1].tolist() == [0.5, 0.0, -0.5]


def test_local_response_norm_by_hand():
    x = numpy.array([1.0, 2.0, 3.0, 4.0]).reshape(1, 4, 1, 1)
    y, _ = forward(lambda g, x: g.local_response_norm(x, 3, alpha=3.0, beta=2.0, k=0.5), x)
    sums = [1 + 4, 1 + 4 + 9, 4 + 9 + 16, 9 + 16]  # alpha / size is 1, at the edges too
    assert y.ravel() == pytest.approx(x.ravel() / (0.5 + numpy.array(sums)) ** 2, rel=1e-14)


def test_concat_flatten_and_reshape_keep_the_order():
    x = numpy.arange(12.0).reshape(1, 2, 3, 2)
    assert forward(lambda g, x: g.flatten(x), x)[0].tolist() == [list(range(12))]
    assert forward(lambda g, x: g.reshape(x, (3, 4)), x)[0].tolist() == [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]]


def test_concat_puts_the_first_value_first_along_its_axis():
    first, second = numpy.array([[[1.0, 2.0]]]), numpy.array([[[3.0], [4.0]]])
    y, backward = OPS["concat"]([first, second.reshape(1, 1, 2)], {"axis": 0}, {}, None)
    assert y.tolist() == [[[1, 2], [3, 4]]]
    y, backward = OPS["concat"]([first.reshape(1, 2, 1), second], {"axis": 1}, {}, None)
    assert y.tolist() == [[[1, 3], [2, 4]]]
    assert [each.tolist() for each in backward(y)[0]] == [[[[1], [2]]], [[[3], [4]]]]
