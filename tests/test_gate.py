"""The gate on the host: the tolerances of its page, and where a disagreement is said to begin.

The disagreements are made by the reference itself, with one thing changed in the graph or the settings that it gets.
"""

import copy
import re

import pytest

from host import catalogue
from host.gate import bundle, compare, locate, tolerance
from host.gate.tolerance import Noise
from host.runner import gate as runner
from worker import bundle as makers
from worker import gate
from worker.frameworks.reference import Adapter

PAGE = (catalogue.ROOT / "docs" / "gate.md").read_text(encoding="utf-8")


def row(check):
    """Return the tolerance that the page's table gives a check."""
    return re.search(r"^\| {} \|.*\| (.*) \|$".format(re.escape(check)), PAGE, re.MULTILINE).group(1)


def test_the_pages_table_has_the_numbers_of_the_code():
    bound = "min(1e-3, max({}, 20 η, 10 η_red))"
    assert (tolerance.CAP, tolerance.NOISE_FACTOR, tolerance.REDUCTION_FACTOR) == (1e-3, 20, 10)
    assert float(row("G1")) == float(row("G6")) == tolerance.LOSS
    assert row("G2") == bound.format("1.5e-5") and tolerance.GRADIENT_FLOOR == 1.5e-5
    assert row("G3") == row("G4") == bound.format("5e-5") + " + 4 · 2⁻²⁴ · ‖p‖ / ‖Δp‖"
    assert (tolerance.UPDATE_FLOOR, tolerance.SUBTRACTION_FACTOR, tolerance.UNIT) == (5e-5, 4, 2**-24)
    assert float(row("G5")) == tolerance.BUFFER and float(row("precision")) == tolerance.PRECISION
    assert "relative L2 above 1e-5 disagrees" in PAGE and tolerance.LAYER == 1e-5


@pytest.mark.parametrize(
    ("noise", "expected"),
    [
        (Noise(0.0, 0.0), 1.5e-5),
        (Noise(1e-6, 0.0), 2e-5),
        (Noise(1e-6, 3e-6), 3e-5),
        (Noise(1.0, 0.0), 1e-3),
    ],
)
def test_a_gradients_tolerance_is_its_noise_between_floor_and_cap(noise, expected):
    assert tolerance.gradient(noise) == pytest.approx(expected, rel=1e-12)


def test_an_updates_tolerance_has_the_rounding_of_its_parameter():
    assert tolerance.update(Noise(0.0, 0.0), 2.0, 0.5) == pytest.approx(5e-5 + 4 * 2**-24 * 4, rel=1e-12)


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    cache = tmp_path_factory.mktemp("bundles")
    return lambda network: bundle.load(network, "reference", cache)


def judged(made, change=None, settings=None, values=True):
    """Return a record's `gate` for the reference run on a changed graph or with changed settings."""
    graph = copy.deepcopy(made.graph)
    if change:
        change({op["name"]: op for op in graph["ops"]})

    subject = Adapter if values else type("Silent", (Adapter,), {"values": property()})
    batches = gate.read_batches(made.paths["batches"])
    cell = dict(bundle.CELL, network=graph["network"])
    merged = dict(made.settings, **(settings or {}))
    found, facts = gate.trajectory(subject, cell, graph, made.start, batches, merged)
    return {
        "checks": compare.compare(made.graph, facts, found, made),
        "layers": compare.layers(made.graph, found, made),
    }


def said(made, **changes):
    return locate.text(locate.first(judged(made, **changes)))


@pytest.mark.parametrize("network", catalogue.names("network"))
def test_the_reference_agrees_with_itself_in_every_check(network, bundles):
    found = judged(bundles(network))
    assert locate.first(found) is None
    checks = {line["check"] for line in found["checks"]}
    norms = any(op["op"] == "batch_norm" for op in bundles(network).graph["ops"])
    assert checks == {"G1", "G2", "G3", "G4", "G6", "G7", "G8", "G5" if norms else "precision"}
    ops = [op["name"] for op in bundles(network).graph["ops"]]
    assert [layer["name"] for layer in found["layers"]] == ops[:-1]
    assert all(layer["error"] == 0 for layer in found["layers"])
    (repeated,) = (line for line in found["checks"] if line["check"] == "G8")
    assert repeated["tensor"] == "every gradient, bit by bit the same"


def test_a_wrong_padding_is_found_where_it_is(bundles):
    def change(ops):
        ops["first"]["attributes"]["padding"] = [0, 2, 1, 1]

    assert said(bundles("gate_residual"), change=change).startswith("forward, from conv2d 'first' on: G2 ")


def test_a_wrong_attribute_is_found_where_it_is(bundles):
    def change(ops):
        ops["local_response_norm_1"]["attributes"]["k"] = 1.0

    assert said(bundles("gate_images"), change=change).startswith("forward, from local_response_norm 'local_resp")


def test_the_runner_prints_a_refusal_and_nothing_else(bundles):
    def change(ops):
        ops["first"]["attributes"]["padding"] = [0, 2, 1, 1]

    cell = dict(bundle.CELL, network="gate_residual", protocol="gate", repeat=1, attempt=0)
    said = []
    runner.tell(judged(bundles("gate_residual")), cell, said.append)
    assert said == []
    runner.tell(judged(bundles("gate_residual"), change=change), cell, said.append)
    (line,) = said
    assert line.startswith("reference gate_residual gate b16 t1 eager r1: not equivalent: forward, from conv2d 'first'")
    assert "exceeds its tolerance" in line


def test_without_values_only_the_pass_is_named(bundles):
    def change(ops):
        ops["first"]["attributes"]["padding"] = [0, 2, 1, 1]

    words = said(bundles("gate_residual"), change=change, values=False)
    assert words.startswith("forward; its adapter does not show the values of its ops: G2")


def test_an_ignored_rate_change_is_an_update_after_the_first(bundles):
    made = bundles("mlp")
    constant = [made.settings["learning_rates"][0]] * 5
    assert said(made, settings={"learning_rates": constant}).startswith("an update after the first (momentum, or")


def test_a_missing_weight_decay_is_the_first_update(bundles):
    words = said(bundles("mlp"), settings={"weight_decay": 0.0})
    assert words.startswith("the first update (momentum's form, weight decay") and ".weight: error" in words


def test_the_undeclared_form_of_momentum_is_refused(bundles):
    forms = {"momentum_form": "inside", "running_variance": "biased"}
    assert said(bundles("mlp"), settings={"forms": forms}).startswith("an update after the first")


def test_the_undeclared_form_of_the_running_variance_is_refused(bundles):
    forms = {"momentum_form": "outside", "running_variance": "unbiased"}
    assert said(bundles("gate_residual"), settings={"forms": forms}).startswith("running statistics")


def test_a_wrong_gradient_is_found_from_the_loss_backwards():
    ops = {"a": "dense", "b": "dense", "n": "relu", "c": "dense", "m": "relu", "d": "dense"}
    made = {"checks": [], "layers": [{"op": op, "name": name, "error": 0.0} for name, op in ops.items()]}
    for name, error in (("a", 1.0), ("b", 1.0), ("c", 0.0), ("d", 0.0)):
        made["checks"].append({"check": "G2", "tensor": name + ".weight", "error": error, "tolerance": 1e-5})
    said = locate.text(locate.first(made))
    assert said.startswith("backward, in dense 'b' or relu 'n': the forward pass agrees: G2 b.weight: error 1 ex")


def test_rounded_products_are_recognised():
    made = {"checks": [{"check": "G1", "tensor": "logits step 1", "error": 1e-3, "tolerance": 1e-5}], "layers": []}
    made["checks"].append({"check": "G2", "tensor": "a.weight", "error": 4e-4, "tolerance": 1.5e-5})
    made["checks"].append({"check": "precision", "tensor": "a.weight", "error": 4e-4, "tolerance": 3e-5})
    assert "of the size of TF32 or bfloat16 products" in locate.text(locate.first(made))


@pytest.mark.parametrize("error", ["nan", "inf", float("nan")])
def test_what_is_no_number_did_not_pass(error):
    place = locate.first({"checks": [{"check": "G1", "tensor": "loss step 1", "error": error, "tolerance": 1e-5}]})
    assert place.line["error"] is error


def test_a_start_that_amplifies_an_error_of_the_loss_is_not_taken(bundles):
    made = bundles("gate_images")
    assert made.facts["fit"] and made.facts["tries"] > 1, "the first starts of this network cancel too far"
    maker = makers.Maker(Adapter, bundle.CELL, made.graph, made.settings)
    first = makers.Start(bundle.SETTINGS["seed"] + 10, 1, made.graph, made.settings, 5)
    maker.settle(first)
    assert first.gap >= makers.NEAREST_TIE and maker.amplified(first) > makers.LARGEST_AMPLIFIED
    taken = makers.Start(made.facts["seed"], 1, made.graph, made.settings, 5)
    maker.settle(taken)
    assert maker.amplified(taken) <= makers.LARGEST_AMPLIFIED
