"""The checks. Each takes a Subject and returns complaints in words; none means that the contract is kept."""

import json

import numpy

from contract.subject import PLAIN, run
from worker import weights
from worker.frameworks import KNOBS, VERSIONS, Unsupported

UNHEARD_OF = {
    "precision": "float7",
    "execution": "interpreted by hand",
    "devices": 3,
    "optimizer": "sgdd",
    "mode": "dream",
    "feeding": "by spoon",
    "accelerator": "abacus",
}
CLOSE = 2e-5  # relative; float32 arithmetic in another order


def relative(found, expected):
    """Return ||found - expected|| / ||expected||."""
    found, expected = numpy.asarray(found, numpy.float64), numpy.asarray(expected, numpy.float64)
    return float(numpy.linalg.norm(found - expected) / max(numpy.linalg.norm(expected), 1e-30))


def start_comes_back(subject):
    """Parameters and buffers carry the graph's names, shapes and float32, and are what was put in, bit by bit."""
    adapter, complaints = subject.build(), []
    for kind, found in (("parameters", adapter.parameters()), ("buffers", adapter.buffers())):
        expected = {entry["name"]: entry for entry in subject.gate_graph[kind]}
        if set(found) != set(expected):
            complaints.append("{}: found {}, the graph has {}".format(kind, sorted(found), sorted(expected)))
            continue
        for name, entry in expected.items():
            if list(found[name].shape) != entry["shape"]:
                complaints.append("{} has shape {}, the graph {}".format(name, found[name].shape, entry["shape"]))
            elif not numpy.array_equal(found[name], subject.start[name]):
                complaints.append("{} is not what was put in".format(name))
    return complaints


def every_parameter_learns(subject):
    """Every parameter has a gradient that is not zero and moves in a step; the loss is finite."""
    adapter, complaints = subject.build(), []
    loss = run(adapter)
    if not numpy.isfinite(loss):
        complaints.append("the loss is {}".format(loss))
    moved = adapter.parameters()
    gradients = adapter.gradients() if hasattr(adapter, "gradients") else dict.fromkeys(moved)
    for entry in subject.gate_graph["parameters"]:
        name = entry["name"]
        gradient = gradients.get(name, numpy.zeros(()))
        if gradient is not None and (list(gradient.shape) != entry["shape"] or not gradient.any()):
            complaints.append("{} has no gradient of its shape that is not zero".format(name))
        if numpy.array_equal(moved[name], subject.start[name]):
            complaints.append("{} did not move".format(name))
    return complaints


def batches_are_not_folded(subject):
    """Steps compute on the batch that they are given: other batches, other losses; the same one again, the same."""
    adapter = subject.build(optimizer={"learning_rate": 0.0})
    losses, again = ([run(adapter, index) for index in (0, 1, 2)] for _ in range(2))
    complaints = []
    if len(set(losses)) != 3:
        complaints.append("three batches gave the losses {}".format(losses))
    if max(abs(one / other - 1) for one, other in zip(losses, again)) > CLOSE:
        complaints.append("with learning rate 0 the losses {} became {}".format(losses, again))
    return complaints


def evaluation_is_evaluation(subject):
    """evaluate() repeats itself, changes nothing, and differs from training where dropout or batch-norm is."""
    start = weights.draw(subject.training_graph, 5)
    adapter = subject.build(subject.training_graph, start, {"learning_rate": 0.0}, mode="train")
    inputs, targets = subject.batches[0]
    before = adapter.evaluate(inputs, targets)
    complaints = []
    if before[1].shape != targets.shape + (subject.training_graph["classes"],):
        complaints.append("evaluate() gave logits of shape {}".format(before[1].shape))
    if relative(adapter.evaluate(inputs[:5], targets[:5])[1], before[1][:5]) > CLOSE:
        complaints.append("evaluate() of 5 samples is not evaluate() of all, first 5")
    for name, value in adapter.buffers().items():
        if not numpy.array_equal(value, start[name]):
            complaints.append("evaluate() changed {}".format(name))
    run(adapter, 0)
    trained = adapter.logits()
    distance = relative(trained, before[1])
    graph = subject.training_graph
    differs = subject.has(graph, "dropout") or subject.has(graph, "batch_norm")
    if differs and distance < 1e-3:
        complaints.append("training and evaluation agree ({}), though there is dropout or batch-norm".format(distance))
    if not differs and distance > CLOSE:
        complaints.append("training and evaluation differ ({}), though nothing should".format(distance))
    if not subject.has(graph, "batch_norm") and relative(adapter.evaluate(inputs, targets)[1], before[1]) > CLOSE:
        complaints.append("evaluate() differs after a step with learning rate 0")
    return complaints


def inference_is_evaluation(subject):
    """In mode infer, logits and loss of a step are those of evaluate(), in both feedings, and nothing changes."""
    start, complaints = weights.draw(subject.training_graph, 6), []
    for feeding in ("step", "resident"):
        adapter = subject.build(subject.training_graph, start, mode="infer", feeding=feeding)
        for index in (0, 1):
            loss = run(adapter, index)
            expected_loss, expected = adapter.evaluate(*subject.batches[index])
            if relative(adapter.logits(), expected) > CLOSE or abs(loss / expected_loss - 1) > CLOSE:
                complaints.append("{}: batch {}: not what evaluate() gives".format(feeding, index))
        for name, value in dict(adapter.parameters(), **adapter.buffers()).items():
            if not numpy.array_equal(value, start[name]):
                complaints.append("{}: inference changed {}".format(feeding, name))
        adapter.close()
    return complaints


def dropout_only_in_training(subject):
    """Dropout draws anew in each training step and is off in evaluation."""
    graph = subject.training_graph
    if not subject.has(graph, "dropout"):
        return []
    adapter = subject.build(graph, weights.draw(graph, 7), {"learning_rate": 0.0}, mode="train")
    draws = []
    for _ in range(2):
        run(adapter, 0)
        draws.append(adapter.logits())
    complaints = []
    if relative(draws[0], draws[1]) < 1e-3:
        complaints.append("two training steps drew the same mask")
    inputs, targets = subject.batches[0]
    if relative(adapter.evaluate(inputs, targets)[1], adapter.evaluate(inputs, targets)[1]) > 0:
        complaints.append("evaluation is random: dropout is on in it")
    fresh = [subject.build(each, weights.draw(graph, 7), mode="train") for each in (graph, without_dropout(graph))]
    evaluated = [each.evaluate(inputs, targets)[1] for each in fresh]  # with a key of its own it need not be random
    if relative(*evaluated) > CLOSE:
        complaints.append("evaluation is not that of the network without dropout")
    return complaints


def without_dropout(graph):
    """Return a copy of the graph in which every dropout has the rate 0."""
    ops = [
        dict(op, attributes=dict(op["attributes"], rate=0.0)) if op["op"] == "dropout" else op for op in graph["ops"]
    ]
    return dict(graph, ops=ops)


def dropout_has_its_rate(subject):
    """Elements are dropped at the rate (within 4 sigma), what is kept is divided by 1 - rate; rate 0 drops nothing.

    A network of one dense layer with an identity matrix after the dropout: its logits are the mask times the input.
    """
    complaints = []
    for rate in (0.3, 0.0):
        mask = draw_mask(subject, rate)
        dropped = float((mask == 0).mean())
        if abs(dropped - rate) > 4 * numpy.sqrt(rate * (1 - rate) / mask.size):
            complaints.append("{} of the elements are dropped at rate {}".format(dropped, rate))
        if abs(mask[mask != 0] * (1 - rate) - 1).max() > CLOSE:
            complaints.append("what is kept is multiplied by {}, not 1 / {}".format(mask.max(), 1 - rate))
    return complaints


def draw_mask(subject, rate):
    """Return the mask that one training step drew, (samples, units)."""
    units, samples = 50, 400
    adapter = subject.module.Adapter(subject.cell(mode="train", batch=samples))
    weight = {"name": "d.weight", "shape": [units, units], "kind": "weight", "initial": None}
    ops = [one_op("dropout", "x", "input", units, {"rate": rate}), one_op("dense", "d", "x", units, {"units": units})]
    ops[1]["parameters"] = {"weight": "d.weight"}
    ops.append(dict(one_op("softmax_cross_entropy", "loss", "d", units, {}), output_shape=[]))
    graph = {
        "network": "mask",
        "input": {"value": "input", "shape": [units], "dtype": "float32"},
        "ops": ops,
        "logits": "d",
    }
    graph.update(loss="loss", parameters=[weight], buffers=[], classes=units)
    optimizer = {"name": "sgd", "learning_rate": 0.0, "momentum": 0.0, "weight_decay": 0.0}
    adapter.build(graph, {"d.weight": numpy.eye(units, dtype=numpy.float32)}, optimizer)
    adapter.feed(0, numpy.ones((samples, units), numpy.float32), numpy.zeros(samples, numpy.int64))
    run(adapter, 0)
    return adapter.logits()


def one_op(op, name, value, units, attributes):
    """Return one op of a graph that reads one value and makes one of `units` elements."""
    made = {"op": op, "name": name, "inputs": [value], "output_shape": [units], "attributes": attributes}
    return dict(made, parameters={}, buffers={})


def learning_rate_takes_effect(subject):
    """A new rate scales the next update in the declared form: outside the velocity all of it, inside only the new part.

    Two runs, momentum 0.9: in one the rate falls to a tenth after the first step. With the velocity v the second
    update is rate * v (outside), or 0.9 times the first update plus rate * gradient (inside).
    """
    rate, momentum = 0.01, 0.9
    updates, gradients = {}, {}
    for label, second in (("kept", rate), ("changed", rate / 10)):
        adapter = subject.build(optimizer={"learning_rate": rate, "momentum": momentum})
        run(adapter, 0)
        first = adapter.parameters()
        adapter.set_learning_rate(second)
        run(adapter, 1)
        updates[label] = {name: value - first[name] for name, value in adapter.parameters().items()}
        gradients[label] = adapter.gradients()
        start = {name: first[name] - subject.start[name] for name in first}
    complaints = []
    for name, kept in updates["kept"].items():
        if subject.module.MOMENTUM_FORM == "outside":
            expected = kept / 10
        else:
            expected = momentum * start[name] - rate / 10 * gradients["changed"][name]
        rounding = 4 * 2.0**-24 * numpy.linalg.norm(subject.start[name]) / max(numpy.linalg.norm(expected), 1e-30)
        error = relative(updates["changed"][name], expected)
        if error > 1e-3 + 10 * rounding:
            complaints.append("{}: the update after the change is off by {}".format(name, error))
    return complaints


def feedings_agree(subject):
    """Feeding `resident` computes what feeding `step` does."""
    found = {}
    for feeding in ("step", "resident"):
        adapter = subject.build(feeding=feeding)
        for index in (0, 1, 0):
            run(adapter, index)
        found[feeding] = adapter.parameters()
    return [
        "{} differs between the feedings".format(name)
        for name, value in found["step"].items()
        if relative(found["resident"][name] - subject.start[name], value - subject.start[name]) > 1e-3
    ]


def unknown_values_are_refused(subject):
    """An axis value that no adapter has is refused as Unsupported, and the reason names axis and value."""
    complaints = []
    for axis, value in UNHEARD_OF.items():
        try:
            subject.module.Adapter(subject.cell(**{axis: value}))
        except Unsupported as error:
            if axis not in str(error) or str(value) not in str(error):
                complaints.append("{}={!r} was refused without naming it: {}".format(axis, value, error))
        else:
            complaints.append("{}={!r} was accepted".format(axis, value))
    return complaints


def unknown_operations_are_refused(subject):
    """A graph with an op that no adapter has is refused as Unsupported, and the reason names the op."""
    graph = dict(subject.gate_graph, ops=[dict(op) for op in subject.gate_graph["ops"]])
    graph["ops"][0]["op"] = "teleport"
    try:
        subject.build(graph)
    except Unsupported as error:
        return [] if "teleport" in str(error) else ["refused without naming the op: {}".format(error)]
    return ["an op called teleport was accepted"]


def start_values_are_copied(subject):
    """Training leaves the arrays that were handed in as they were: they may be shared, or mapped from a file."""
    adapter = subject.module.Adapter(subject.cell())
    start = {name: array.copy() for name, array in subject.start.items()}
    for array in start.values():
        array.flags.writeable = False
    adapter.build(subject.gate_graph, start, PLAIN)
    inputs, targets = (array.copy() for array in subject.batches[0])
    adapter.feed(0, inputs, targets)
    fed = inputs.copy()
    run(adapter, 0)
    changed = ["{} changed".format(name) for name in start if not numpy.array_equal(start[name], subject.start[name])]
    return changed + ([] if numpy.array_equal(inputs, fed) else ["the batch changed"])


def knobs_and_versions_use_common_words(subject):
    """knobs() and versions() have the words that all adapters share, and values that JSON can hold."""
    adapter = subject.build()
    complaints = ["knobs() has no {}".format(word) for word in sorted(set(KNOBS) - set(adapter.knobs()))]
    complaints += ["versions() has no {}".format(word) for word in sorted(set(VERSIONS) - set(adapter.versions()))]
    json.dumps([adapter.knobs(), adapter.versions()], allow_nan=False)
    if adapter.knobs().get("threads") != subject.cell()["threads"]:
        complaints.append("the cell asks for 1 thread, in force are {}".format(adapter.knobs().get("threads")))
    return complaints


NETWORK_CHECKS = {
    check.__name__: check
    for check in (
        start_comes_back,
        every_parameter_learns,
        batches_are_not_folded,
        evaluation_is_evaluation,
        inference_is_evaluation,
        dropout_only_in_training,
        learning_rate_takes_effect,
        feedings_agree,
    )
}
ADAPTER_CHECKS = {
    check.__name__: check
    for check in (
        unknown_values_are_refused,
        unknown_operations_are_refused,
        start_values_are_copied,
        dropout_has_its_rate,
        knobs_and_versions_use_common_words,
    )
}
