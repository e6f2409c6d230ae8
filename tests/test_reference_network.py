"""The float64 reference on whole graphs: gradients, the gate's disturbances, near ties, the optimiser, the adapter."""

import numpy
import pytest

from host import catalogue, graph
from host.graph import weights
from worker.frameworks import Unsupported, reference
from worker.reference import perturbation
from worker.reference.network import Network
from worker.reference.normalization import exact_sum
from worker.reference.optimizer import Sgd

PLAIN = {"name": "sgd", "learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.0}
CELL = {
    "framework": "reference",
    "mode": "gate",
    "feeding": "step",
    "devices": 1,
    "execution": "eager",
    "precision": "float32",
    "optimizer": "sgd",
}


def relative_error(found, expected):
    scale = numpy.linalg.norm(expected)
    return numpy.linalg.norm(numpy.asarray(found) - expected) / (scale if scale > 1e-12 else 1.0)


def gate_network(name, **options):
    """Return (network, inputs, targets) of a gate size, batch 16, unequal class counts."""
    lowered = graph.lower(name, "gate", "gate")
    generator = numpy.random.RandomState(5)
    shape = (16, *lowered["input"]["shape"])
    if lowered["input"]["dtype"] == "int64":
        inputs = generator.randint(0, lowered["input"]["classes"], shape)
    else:
        inputs = generator.normal(size=shape).astype(numpy.float32)
    targets = generator.randint(0, lowered["classes"], (16, *lowered["target"]["shape"]))
    return Network(lowered, weights.draw(lowered, 11), dict(PLAIN), **options), inputs, targets


def test_disturbed_sums_reach_the_gradients_and_only_through_batch_norm():
    def gradients(name, total):
        network, inputs, targets = gate_network(name, total=total)
        network.forward(inputs, targets, training=True)
        return network.backward()

    exact, disturbed = (gradients("gate_residual", total) for total in (exact_sum, disturbing()))
    errors = {name: relative_error(disturbed[name], exact[name]) for name in exact}
    assert all(1e-8 < error < 1e-3 for error in errors.values()), errors
    exact, disturbed = (gradients("lenet5", total) for total in (exact_sum, disturbing()))
    assert all((disturbed[name] == exact[name]).all() for name in exact)


def disturbing():
    return perturbation.Sums(numpy.random.RandomState(3))


@pytest.mark.parametrize("name", catalogue.names("network"))
def test_gate_starts_its_running_variances_near_the_batchs(name):
    network, inputs, targets = gate_network(name)
    start = {key: values.copy() for key, values in network.buffers.items()}
    network.forward(inputs, targets, training=True)
    for key, values in network.buffers.items():
        if key.endswith("running_variance"):
            batch = (values - 0.9 * start[key]) / 0.1
            assert 1 / 8 < numpy.median(start[key] / batch) < 8, key


# ---------------------------------------------------------------- whole networks


@pytest.mark.parametrize("name", catalogue.names("network"))
def test_gradient_of_a_network_is_its_directional_derivative(name):
    network, inputs, targets = gate_network(name)
    network.forward(inputs, targets, training=True)
    gradients = network.backward()
    generator = numpy.random.RandomState(6)
    step = 1e-6
    for key, values in network.parameters.items():
        start = values.copy()
        direction = generator.normal(size=values.shape)
        direction += gradients[key] / numpy.linalg.norm(gradients[key]) * numpy.linalg.norm(direction)
        direction /= numpy.linalg.norm(direction)
        ends = []
        for side in (step, -step):
            values[:] = start + side * direction
            ends.append(network.forward(inputs, targets, training=True))
        values[:] = start
        expected = float((gradients[key] * direction).sum())
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(expected, rel=1e-6, abs=1e-9), key


def test_a_network_learns():
    network, inputs, targets = gate_network("gate_residual")
    losses = [network.train(inputs, targets)[0] for _ in range(60)]
    assert losses[-1] < 0.05 * losses[0]


def test_a_graph_that_the_reference_cannot_compute_is_refused():
    lowered = graph.lower("mlp", "gate")
    drawn = weights.draw(lowered, 1)
    with pytest.raises(ValueError, match="'hidden1.weight' is missing"):
        Network(lowered, {name: drawn[name] for name in list(drawn)[1:]}, PLAIN)
    with pytest.raises(ValueError, match=r"'hidden1.bias' has shape \(2,\); the graph says \(23,\)"):
        Network(lowered, dict(drawn, **{"hidden1.bias": numpy.zeros(2)}), PLAIN)
    lowered["ops"][1]["output_shape"] = [24]
    with pytest.raises(ValueError, match=r"hidden1: the graph says \[24\] without the batch, dense makes \[23\]"):
        Network(lowered, drawn, PLAIN).forward(numpy.zeros((2, 1, 9, 7)), numpy.array([0, 1]), training=True)
    lowered["ops"][1]["op"] = "gru"
    with pytest.raises(ValueError, match="hidden1: the reference has no op 'gru'"):
        Network(lowered, drawn, PLAIN)


def test_smallest_gap_of_a_network_is_over_its_training_passes():
    network, inputs, targets = gate_network("gate_residual", watching=True)
    network.forward(inputs, targets, training=False)
    assert network.smallest_gap == numpy.inf
    network.train(inputs, targets)
    first = network.smallest_gap
    assert 0 < first < 0.01
    for _ in range(4):
        network.train(inputs, targets)
    assert 0 < network.smallest_gap <= first


# ---------------------------------------------------------------- the optimiser


@pytest.mark.parametrize("form", ["outside", "inside"])
def test_momentum_sums_past_gradients(form):
    """Constant gradient g, k steps: w = w0 - rate * g * sum over j <= k of (1 - mu^j) / (1 - mu)."""
    w = {"w": numpy.array([1.0])}
    optimizer = Sgd(dict(PLAIN, momentum_form=form), {"w": "weight"})
    for _ in range(4):
        optimizer.update(w, {"w": numpy.array([0.5])})
    assert w["w"][0] == pytest.approx(1 - 0.1 * 0.5 * sum((1 - 0.9**j) / 0.1 for j in range(1, 5)), rel=1e-14)


@pytest.mark.parametrize(("form", "second"), [("outside", 0.01 * 1.9), ("inside", 0.9 * 0.1 + 0.01)])
def test_the_forms_of_momentum_differ_once_the_learning_rate_changes(form, second):
    w = {"w": numpy.array([0.0])}
    optimizer = Sgd(dict(PLAIN, momentum_form=form), {"w": "weight"})
    optimizer.update(w, {"w": numpy.array([1.0])})
    assert w["w"][0] == pytest.approx(-0.1, rel=1e-14)
    optimizer.learning_rate = 0.01
    optimizer.update(w, {"w": numpy.array([1.0])})
    assert w["w"][0] == pytest.approx(-0.1 - second, rel=1e-14)


def test_weight_decay_shrinks_weights_and_nothing_else():
    kinds = {"w": "weight", "b": "bias", "gamma": "normalization"}
    parameters = {name: numpy.array([2.0]) for name in kinds}
    optimizer = Sgd(dict(PLAIN, momentum=0.0, weight_decay=0.05), kinds)
    for _ in range(3):
        optimizer.update(parameters, {name: numpy.zeros(1) for name in kinds})
    assert parameters["w"][0] == pytest.approx(2.0 * (1 - 0.1 * 0.05) ** 3, rel=1e-14)
    assert parameters["b"][0] == parameters["gamma"][0] == 2.0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"name": "adam"}, "'adam': the reference has only 'sgd'"),
        ({"momentum_form": "nesterov"}, "momentum_form: 'nesterov': it must be 'outside' or 'inside'"),
        ({"running_variance": "both"}, "running_variance: 'both': it must be 'biased' or 'unbiased'"),
    ],
)
def test_unknown_optimisers_and_forms_are_refused(changed, message):
    lowered = graph.lower("mlp", "gate")
    with pytest.raises(ValueError, match=message):
        Network(lowered, weights.draw(lowered, 1), dict(PLAIN, **changed))


# ---------------------------------------------------------------- the adapter


def adapter(name="gate_residual", **changed):
    """Return (adapter, inputs, targets): built on a gate size and fed with one batch."""
    _, inputs, targets = gate_network(name)
    lowered = graph.lower(name, "gate", "gate")
    made = reference.Adapter(dict(CELL, **changed))
    made.build(lowered, weights.draw(lowered, 11), PLAIN)
    made.feed(0, inputs, targets)
    return made, inputs, targets


def test_adapter_steps_as_the_network_does_and_answers_in_float64():
    made, inputs, targets = adapter()
    made.step(0)
    network, _, _ = gate_network("gate_residual")
    loss, gradients = network.train(inputs, targets)
    assert made.loss() == loss and (made.logits() == network.logits).all()
    for name, values in made.parameters().items():
        assert values.dtype == numpy.float64
        assert (values == network.parameters[name]).all()
        assert (made.gradients()[name] == gradients[name]).all()
    assert made.network.smallest_gap < numpy.inf, "a gate cell watches for near ties"


def test_adapter_takes_classes_as_they_are_and_there_is_no_gradient_to_them():
    made, inputs, targets = adapter("char_lstm")
    made.step(0)
    network, _, _ = gate_network("char_lstm")
    loss, _ = network.train(inputs, targets)
    assert made.loss() == loss and made.logits().shape == (16, 5, 11)
    assert made.network.input_gradient is None
    assert set(made.gradients()) == set(made.parameters())


def test_adapter_uses_a_new_learning_rate_from_the_next_step():
    made, _, _ = adapter()
    made.set_learning_rate(0.0)
    before = made.parameters()
    made.step(0)
    assert all((values == before[name]).all() for name, values in made.parameters().items())


def test_inference_and_evaluation_change_nothing():
    made, inputs, targets = adapter(mode="infer")
    before = {**made.parameters(), **made.buffers()}
    made.step(0)
    loss, logits = made.evaluate(inputs, targets)
    assert loss == made.loss() and logits.shape == (16, 10)
    assert all((values == before[name]).all() for name, values in {**made.parameters(), **made.buffers()}.items())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"devices": 2}, "devices 2: the reference adapter has 1"),
        ({"execution": "compiled"}, "execution 'compiled': the reference adapter has 'eager'"),
        ({"precision": "tf32"}, "precision 'tf32': the reference adapter has 'float32'"),
        ({"optimizer": "adam"}, "optimizer 'adam': the reference adapter has 'sgd'"),
        ({"feeding": "e2e"}, "feeding 'e2e': the reference adapter has 'step', 'resident'"),
    ],
)
def test_adapter_refuses_what_it_does_not_do(changed, message):
    with pytest.raises(Unsupported, match=message):
        reference.Adapter(dict(CELL, **changed))
