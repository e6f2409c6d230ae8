"""The gate against planted faults: nearly all are caught, every survivor is explained, honest noise is never refused.

The whole suite runs once, in every framework that can be built here; `make faults` prints what it found.
"""

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from faults import (
    environments,
    explained,
    fault,
    kinds,
    load,
    networks,
    optimizers,
    plan,
    rounding,
    seeds,
    suite,
    table,
)
from faults.run import CHECKS, Outcome, changes
from host import catalogue

FRAMEWORKS = [name for name in catalogue.frameworks("cpu") if name != suite.REFERENCE]
FILES = sorted(path.stem for path in (catalogue.ROOT / "tests" / "faults" / "frameworks").glob("[a-z]*.py"))
INSIDE = ("fault", "faulty", "kinds", "load", "inside", "makers", "rounding")
INSIDE += ("gradients", "optimizers", "training", "dropout")
EVERY = {"G1", "G2", "G3", "G4"}
CAUGHT_BY = {  # kind: the checks that must see it wherever it is planted; measured in float64, five steps
    "all gradients summed over the batch": {"G2", "G3", "G4"},
    "learning rate times the batch": {"G3", "G4"},
    "padding SAME": EVERY,
    "padding shifted by one": EVERY,
    "no gradient below": {"G2", "G3", "G4"},
    "gradient missing": {"G2", "G3", "G4"},
    "bias dropped": EVERY,
    "bias missing": {"G7"},
    "running momentum is 0.99": {"G5", "G6"},
    "running momentum is the new batch's share": {"G5", "G6"},
    "running statistics are not updated": {"G5", "G6"},
    "epsilon is 1e-3": {"G2", "G4"},
    "normalised by the unbiased variance": {"G2", "G4", "G5"},
    "padding counted the other way": EVERY,
    "learning rate is the tool's default": {"G3", "G4"},
    "biases decayed": {"G3", "G4"},
    "no weight decay": {"G3", "G4"},
    "Nesterov momentum": {"G3", "G4"},
    "unit-gain momentum": {"G3", "G4"},
    "decoupled weight decay": {"G4"},
    "momentum in the other form": {"G4"},
    "momentum is 0.99": {"G4"},
    "learning rate's change ignored": {"G4"},
    "gradients not zeroed": {"G4"},
    "softmax twice": EVERY,
    "relu on the logits": EVERY,
    "weights and inputs rounded to TF32": {"G2", "precision"},
    "weights and inputs rounded to bfloat16": {"G1", "G2", "G3", "G4"},
    "gates i, g, f, o": EVERY,
    "gates i, f, o, g": EVERY,
    "width one more": {"G7"},
    "widths swapped with the next layer": {"G7"},
    "a tensor too many": {"G7"},
    "a tensor too few": {"G7"},
    "another result each time": {"G8"},
    "evaluation in training mode": {"G6"},
    "dropout in evaluation": {"dropout"},
    "rate taken for what is kept": {"dropout"},
}
SILENT = {  # kind: checks that cannot see it, so that the others are needed
    "learning rate's change ignored": {"G2", "G3"},
    "momentum in the other form": {"G2", "G3"},
    "Nesterov momentum": {"G2"},
    "unit-gain momentum": {"G2"},
    "gradients not zeroed": {"G2", "G3"},
    "no weight decay": {"G2"},
    "running momentum is 0.99": {"G1", "G2", "G3", "G4"},
    "evaluation in training mode": {"G1", "G2", "G3", "G4", "G5"},
    "buffers of before the last update": {"G1", "G2", "G3", "G4", "G6"},
}


@pytest.fixture(scope="session")
def pythons(environment_status):
    """Return {framework: Python} of the environments that there are or can be built; the reference is the judge."""
    for framework in FRAMEWORKS:
        environment_status(framework)
    found = environments.ready()
    if not found:
        pytest.skip("no framework's environment can be built here")
    return found


@pytest.fixture(scope="session")
def result(pythons, tmp_path_factory):
    return suite.survey(pythons, tmp_path_factory.mktemp("faults"))


def test_at_least_200_faults_are_planted(result, pythons):
    assert len(result.outcomes) >= min(200, 100 * len(pythons))
    assert {outcome.framework for outcome in result.outcomes} == set(pythons)


def test_nearly_all_are_caught_in_every_framework(result, pythons):
    for framework in pythons:
        mine = [outcome for outcome in result.outcomes if outcome.framework == framework]
        assert sum(bool(outcome.caught_by) for outcome in mine) >= 0.99 * len(mine), table.summary(result)


def test_every_survivor_is_explained(result):
    assert result.unexplained == [], table.summary(result)


def test_no_fault_is_refused_for_a_reason_that_nobody_expected(result):
    assert [(table.described(outcome), outcome.first) for outcome in result.surprising] == []


def test_every_explanation_has_a_survivor(result, pythons):
    if set(pythons) == set(FRAMEWORKS):
        assert explained.idle(result.survivors) == []


def test_one_unit_in_the_last_place_is_never_refused(result, pythons):
    noisy = [outcome for outcome in result.honest if outcome.fault.kind == suite.NOISE]
    assert len(noisy) == len(pythons) * len(networks.names())
    assert [table.described(outcome) for outcome in noisy if outcome.caught_by] == []


def test_no_adapter_is_refused_in_two_starts(result, pythons, tmp_path_factory):
    assert [table.described(outcome) for outcome in result.honest if outcome.caught_by] == []
    small = ["gate_residual", "char_lstm"]
    found = seeds.survey(pythons, tmp_path_factory.mktemp("seeds"), small, 1, first=1)
    assert len(found) == 2 * len(pythons) * len(small)
    assert [table.described(outcome) for _, outcome in found if outcome.caught_by] == []


@pytest.mark.parametrize("kind", CAUGHT_BY)
def test_a_kind_is_caught_by_its_checks(kind, result):
    planted = [outcome for outcome in result.outcomes if outcome.fault.kind == kind]
    assert planted, "{} was planted nowhere".format(kind)
    assert any(CAUGHT_BY[kind] <= set(outcome.caught_by) for outcome in planted)
    for outcome in planted:  # a network without batch-norm has no G5, one with it no line of precision
        assert (CAUGHT_BY[kind] & set(outcome.excess)) <= set(outcome.caught_by), table.described(outcome)
        assert "refused" not in outcome.excess, outcome.first


@pytest.mark.parametrize("kind", SILENT)
def test_other_checks_are_silent_on_it(kind, result):
    planted = [outcome for outcome in result.outcomes if outcome.fault.kind == kind]
    assert planted
    assert [table.described(each) for each in planted if SILENT[kind] & set(each.caught_by)] == []


def test_every_check_is_needed_by_some_fault(result):
    seen = {check for outcome in result.outcomes for check in outcome.caught_by}
    assert seen >= set(CHECKS) - {"refused"}


def test_the_gate_names_the_place_of_most_faults_in_the_network(result):
    found = [named(outcome) for outcome in result.outcomes if named(outcome) is not None]
    assert len(found) >= 50 and sum(found) >= 0.8 * len(found)


def named(outcome):
    """Say whether the gate's words name the op of a fault in the forward pass, or one that reads it; None elsewhere."""
    if kinds.KINDS[outcome.fault.kind].family != "graph" or not outcome.first.startswith("forward, from"):
        return None
    name = outcome.fault.place.rsplit(".", 1)[0]
    graph = networks.lowered(outcome.fault.network, "gate")
    near = [name] + [op["name"] for op in graph["ops"] if name in op["inputs"]]
    return any("'{}'".format(each) in outcome.first for each in near) if name else None


# ---------------------------------------------------------------- the suite itself, without a framework


def graph_of(network):
    return networks.lowered(network, "gate")


def test_every_framework_with_a_file_offers_what_the_file_has():
    for framework in FILES:
        source = (catalogue.ROOT / "tests" / "faults" / "frameworks" / (framework + ".py")).read_text()
        literals = plan.tools(framework)
        for name in (*literals["OFFERS"], *literals["OWN"]):
            assert "def {}(".format(name) in source or '"{}"'.format(name) in source, (framework, name)
        assert framework in catalogue.names("adapter")


def test_what_an_environment_imports_runs_in_python_3_6():
    folder = catalogue.ROOT / "tests" / "faults"
    files = [folder / name for name in ("graphs", "frameworks", *(name + ".py" for name in INSIDE))]
    program = str(Path(sys.executable).parent / "vermin")
    vermin = [program, "-q", "--violations", "--no-tips", "-t=3.6-", *map(str, files)]
    assert subprocess.run(vermin, capture_output=True, text=True, check=False).returncode == 0


def test_a_fault_leaves_the_graph_asked_for_as_it_was():
    graph = graph_of("gate_residual")
    before = str(graph)
    for kind in kinds.KINDS.values():
        for _, place in kind.places(graph):
            try:
                kinds.plant(kind.name, place, graph)
            except fault.DoesNotApply:
                continue
    assert str(graph) == before


def test_shapes_after_a_refit_are_the_builders():
    for network in networks.names():
        made = fault.Fault(graph_of(network))
        before = [op["output_shape"] for op in made.graph["ops"]]
        made.refit()
        assert [op["output_shape"] for op in made.graph["ops"]] == before
        assert made.tensors == {}


def test_rounding_is_to_the_nearest_and_ties_to_even():
    array = numpy.array([1.0, 1.0 + 2.0**-8, 1.0 + 3 * 2.0**-8, -1.0 - 2.0**-7, 3.0e38], numpy.float32)
    found = rounding.rounded(array, 7)
    assert found[:4].tolist() == [1.0, 1.0, 1.0 + 2.0**-6, -1.0 - 2.0**-7]
    generator = numpy.random.RandomState(0)
    values = generator.standard_normal(1000).astype(numpy.float32)
    assert (abs(rounding.rounded(values, 10) / values - 1) <= 2.0**-11).all()


@pytest.mark.parametrize("form", ["outside", "inside"])
def test_a_steered_momentum_moves_as_its_formula(form):
    """Against a momentum written out here, with a rate that changes: heavy ball is left alone, Nesterov is Nesterov."""
    options = {"momentum": 0.9, "weight_decay": 5e-4, "learning_rate": 0.1}
    graph = {"parameters": [{"name": "w", "kind": "weight"}]}
    rates, generator = (0.1, 0.1, 0.02, 0.02), numpy.random.RandomState(1)
    gradients = generator.standard_normal((4, 3))
    assert numpy.allclose(steered(optimizers.Formula, options, graph, form, rates, gradients), gradients, atol=1e-12)
    w, velocity, moved = numpy.ones(3), numpy.zeros(3), []
    for rate, before, gradient in zip(rates, (0.1, *rates), gradients, strict=False):
        g = gradient + 5e-4 * w
        velocity = 0.9 * velocity * (before / rate if form == "inside" else 1.0) + g
        w = w - rate * (g + 0.9 * velocity)
        moved.append(w)
    used = steered(optimizers.Nesterov, options, graph, form, rates, gradients)
    assert numpy.allclose(engine(options, form, rates, used), moved, atol=1e-12)


def steered(formula, options, graph, form, rates, gradients):
    """Return the gradients that make a framework's momentum follow a formula, from w = 1."""
    made, w, used = optimizers.Steered(formula, options, graph, form), numpy.ones(3), []
    for number, gradient in enumerate(gradients):
        if number and rates[number] != rates[number - 1]:
            made.set_learning_rate(rates[number])
        used.append(made.change("w", gradient, w))
        w = engine(options, form, rates, used)[-1]
    return numpy.array(used)


def engine(options, form, rates, gradients):
    """Return the parameter after each step of momentum in one of the two forms, from w = 1."""
    w, velocity, moved = numpy.ones(3), numpy.zeros(3), []
    for rate, gradient in zip(rates, gradients, strict=False):
        g = gradient + options["weight_decay"] * w
        velocity = options["momentum"] * velocity + (rate * g if form == "inside" else g)
        w = w - (velocity if form == "inside" else rate * velocity)
        moved.append(w)
    return moved


def test_a_change_is_relative_and_a_missing_array_is_one():
    honest = {"a": numpy.array([3.0, 4.0]), "value/x": numpy.zeros(2)}
    assert changes({"a": numpy.array([3.0, 4.0])}, honest) == 0
    assert changes({"a": numpy.array([3.0, 4.5])}, honest) == pytest.approx(0.1)
    assert changes({}, honest) == changes({"a": numpy.array([3.0])}, honest) == float("inf")


def test_a_survivor_without_a_reason_fails_the_command(capsys, monkeypatch):
    from faults.__main__ import report

    load.own({})
    survivor = Outcome("torch", "eager", plan.Planned("layer skipped", "relu", "mlp", "relu_1"), {"G1": 0.4})
    caught = Outcome("torch", "eager", plan.Planned("layer skipped", "relu", "mlp", "relu_2"), {"G1": 4.0})
    assert report(suite.Result([caught], [], []), None, complete=False) == 0
    assert report(suite.Result([caught, survivor], [], []), None, complete=False) == 1
    assert "NOT EXPLAINED" in capsys.readouterr().out
    monkeypatch.setitem(explained.EXPLAINED, ("layer skipped", "mlp", "relu_1"), "for this test")
    assert report(suite.Result([caught, survivor], [], []), None, complete=False) == 0
    assert report(suite.Result([caught], [caught], []), None, complete=False) == 1
