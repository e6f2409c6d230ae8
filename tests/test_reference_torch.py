"""The reference against PyTorch in float64, to 1e-10: every op alone, and five updates of every network's gate size.

The reference was written from the op table, not from PyTorch; where the two agree, both are right.
"""

import json
import subprocess
from pathlib import Path

import numpy
import pytest

from host import catalogue, graph
from host.graph import weights
from host.graph.ops import OPS as HOST_OPS
from worker.reference.network import Network

TOLERANCE = 1e-10
OPTIMIZER = {
    "name": "sgd",
    "learning_rate": 0.05,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "momentum_form": "outside",  # PyTorch's forms of both
    "running_variance": "unbiased",
}
RATES = [0.05, 0.05, 0.05, 0.01, 0.01]
CLASSES = 11  # of the inputs of an embedding


def tail(g, x):
    """End a network that tests one op: weigh every element of its output differently, a sequence's at each position."""
    x = g.flatten(x) if len(x.shape) == 3 else x
    g.softmax_cross_entropy(g.dense(x, 3, name="tail"))


ALONE = {
    "dense": ((7,), lambda g, x: g.dense(x, 5)),
    "dense, no bias": ((7,), lambda g, x: g.dense(x, 5, bias=False)),
    "conv2d": ((3, 7, 5), lambda g, x: g.conv2d(x, 4, (3, 2), stride=(2, 1), padding=(1, 2, 0, 1))),
    "conv2d, groups": ((4, 6, 5), lambda g, x: g.conv2d(x, 6, 3, padding=1, groups=2, bias=False)),
    "conv2d, depthwise": ((4, 6, 5), lambda g, x: g.conv2d(x, 4, 3, stride=2, groups=4)),
    "max_pool2d": ((3, 8, 7), lambda g, x: g.max_pool2d(x, 3, stride=2)),
    "max_pool2d, ceil": ((3, 8, 6), lambda g, x: g.max_pool2d(x, 3, stride=2, rounding="ceil")),
    "max_pool2d, ceil, padded": ((3, 5, 6), lambda g, x: g.max_pool2d(x, 2, stride=3, padding=1, rounding="ceil")),
    "max_pool2d, one-sided": ((3, 8, 7), lambda g, x: g.max_pool2d(x, 3, stride=2, padding=(0, 1, 1, 0))),
    "max_pool2d, ceil, one-sided": (
        (3, 7, 8),
        lambda g, x: g.max_pool2d(x, 3, stride=2, padding=(0, 1, 1, 0), rounding="ceil"),
    ),
    "avg_pool2d, counted": ((3, 8, 7), lambda g, x: g.avg_pool2d(x, (3, 2), stride=2, padding=1)),
    "avg_pool2d, not counted": ((3, 8, 7), lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1, count_padding=False)),
    "avg_pool2d, ceil, counted": ((3, 8, 6), lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1, rounding="ceil")),
    "avg_pool2d, ceil, not counted": (
        (3, 8, 6),
        lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=1, rounding="ceil", count_padding=False),
    ),
    "avg_pool2d, one-sided": ((3, 8, 7), lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=(0, 1, 2, 0))),
    "avg_pool2d, one-sided, not counted": (
        (3, 8, 7),
        lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=(0, 1, 2, 0), count_padding=False),
    ),
    "avg_pool2d, ceil, one-sided": (
        (3, 7, 7),
        lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=(0, 1, 2, 0), rounding="ceil"),
    ),
    "avg_pool2d, ceil, one-sided, not counted": (
        (3, 7, 7),
        lambda g, x: g.avg_pool2d(x, 3, stride=2, padding=(0, 1, 2, 0), rounding="ceil", count_padding=False),
    ),
    "global_avg_pool": ((5, 4, 3), lambda g, x: g.global_avg_pool(x)),
    "relu": ((5, 4, 3), lambda g, x: g.relu(x)),
    "sigmoid": ((11,), lambda g, x: g.sigmoid(x)),
    "tanh": ((11,), lambda g, x: g.tanh(x)),
    "dropout, off": ((11,), lambda g, x: g.dropout(x, 0.0)),
    "batch_norm of images": ((3, 5, 4), lambda g, x: g.batch_norm(x, epsilon=1e-2, momentum=0.8)),
    "batch_norm of vectors": ((11,), lambda g, x: g.batch_norm(x)),
    "add": ((3, 5, 4), lambda g, x: g.add(x, g.sigmoid(x))),
    "flatten": ((3, 5, 4), lambda g, x: g.flatten(x)),
    "softmax_cross_entropy": ((11,), lambda g, x: x),
    "dense, at positions": ((4, 7), lambda g, x: g.dense(x, 5)),
    "softmax_cross_entropy, at positions": ((4, 7), lambda g, x: x),
    "flatten, a sequence": ((4, 7), lambda g, x: g.flatten(x)),
    "add, sequences": ((4, 7), lambda g, x: g.add(x, g.tanh(x))),
    "gelu, erf": ((40,), lambda g, x: g.gelu(x, "erf")),
    "gelu, tanh": ((40,), lambda g, x: g.gelu(x, "tanh")),
    "multiply": ((3, 5, 4), lambda g, x: g.multiply(x, g.sigmoid(x))),
    "concat": ((3, 5, 4), lambda g, x: g.concat(g.tanh(x), g.conv2d(x, 2, 1), x)),
    "concat, height": ((3, 5, 4), lambda g, x: g.concat(x, g.conv2d(x, 3, (2, 1)), axis=1)),
    "concat, sequences": ((4, 7), lambda g, x: g.concat(x, g.dense(x, 2), axis=1)),
    "reshape": ((3, 5, 4), lambda g, x: g.reshape(x, (6, 10))),
    "reshape, to an image": ((30,), lambda g, x: g.conv2d(g.reshape(x, (2, 3, 5)), 2, 2)),
    "local_response_norm": ((7, 3, 2), lambda g, x: g.local_response_norm(x)),
    "local_response_norm, felt": ((7, 3, 2), lambda g, x: g.local_response_norm(x, 3, alpha=2.0, beta=0.6, k=0.7)),
    "local_response_norm, wide": ((3, 3, 2), lambda g, x: g.local_response_norm(x, 9, alpha=5.0, beta=1.5, k=2.0)),
    "layer_norm": ((4, 7), lambda g, x: g.layer_norm(x)),
    "layer_norm of vectors": ((7,), lambda g, x: g.layer_norm(x, epsilon=0.1)),
    "embedding": ((9,), lambda g, x: g.embedding(x, CLASSES, 4)),
    "position_embedding": ((4, 7), lambda g, x: g.position_embedding(x)),
    "lstm": ((8, 5), lambda g, x: g.lstm(x, 6)),
    "lstm, two layers": ((5, 3), lambda g, x: g.lstm(g.lstm(x, 6), 4)),
    "attention": ((6, 24), lambda g, x: g.attention(x, 2, causal=False)),
    "attention, causal": ((6, 27), lambda g, x: g.attention(x, 3, causal=True)),
    "attention, one head": ((1, 12), lambda g, x: g.attention(x, 1, causal=True)),
}


def alone(case):
    """Return the gate graph of one op between the input and a dense layer."""
    shape, define = ALONE[case]
    classes = CLASSES if case.startswith("embedding") else None
    return graph.build(lambda g: tail(g, define(g, g.input(shape, classes=classes))), "one_op", "gate", {}, "gate")


def cases():
    """Return {name: (graph, training, learning rates)} of everything that is compared."""
    found = {}
    for case in ALONE:
        found[case] = (alone(case), True, RATES[:1])
    for kind in ("images", "vectors"):
        found["batch_norm of {}, evaluation".format(kind)] = (alone("batch_norm of " + kind), False, RATES[:1])
    for name in catalogue.names("network"):
        found[name] = (graph.lower(name, "gate", "gate"), True, RATES)
        found[name + ", evaluation"] = (graph.lower(name, "gate", "gate"), False, RATES[:1])
    return found


CASES = cases()


def arrays_of(case):
    """Return the weights and five batches of a case: batch 6 for one op, 16 for a network."""
    lowered, _, rates = CASES[case]
    generator = numpy.random.RandomState(17)
    arrays = weights.draw(lowered, 23)
    batch = 6 if lowered["network"] == "one_op" else 16
    for step in range(len(rates)):
        arrays["x{}".format(step)] = inputs_of(lowered, generator, batch)
        arrays["y{}".format(step)] = generator.randint(0, lowered["classes"], (batch, *lowered["target"]["shape"]))
    return arrays


def inputs_of(lowered, generator, batch):
    """Return float32 images, vectors or sequences, or int64 classes, as the graph's input says."""
    shape = (batch, *lowered["input"]["shape"])
    if lowered["input"]["dtype"] == "int64":
        return generator.randint(0, lowered["input"]["classes"], shape)
    return generator.normal(size=shape).astype(numpy.float32)


@pytest.fixture(scope="module")
def torchs(environment_python, tmp_path_factory):
    """Return {case/name: array} as PyTorch computed all cases, in one process."""
    folder = tmp_path_factory.mktemp("torch")
    jobs = {}
    for number, (case, (lowered, training, rates)) in enumerate(CASES.items()):
        arrays = folder / "{}.npz".format(number)
        numpy.savez(arrays, **arrays_of(case))
        jobs[case] = {
            "graph": lowered,
            "arrays": str(arrays),
            "training": training,
            "optimizer": OPTIMIZER,
            "learning_rates": rates,
        }
    (folder / "jobs.json").write_text(json.dumps(jobs))
    script = Path(__file__).with_name("torch_float64.py")
    command = [environment_python("torch"), script, folder / "jobs.json", folder / "out.npz"]
    answer = subprocess.run(command, env={"PYTHONNOUSERSITE": "1"}, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    with numpy.load(folder / "out.npz") as file:
        return {name: file[name] for name in file.files}


def ours(case):
    """Return {name: array} of one case as the reference computes it."""
    lowered, training, rates = CASES[case]
    arrays = arrays_of(case)
    network = Network(lowered, arrays, OPTIMIZER)
    found, losses = {}, []
    for step, learning_rate in enumerate(rates):
        network.optimizer.learning_rate = learning_rate
        losses.append(network.forward(arrays["x{}".format(step)], arrays["y{}".format(step)], training))
        gradients = network.backward()
        if step == 0:
            found["logits"] = network.logits
            if network.input_gradient is not None:
                found["gradient/input"] = network.input_gradient
            found.update(("gradient/" + name, values) for name, values in gradients.items())
        network.optimizer.update(network.parameters, gradients)
    found["losses"] = numpy.array(losses)
    found.update(("after/" + name, values) for name, values in {**network.parameters, **network.buffers}.items())
    return found


@pytest.mark.parametrize("case", CASES)
def test_reference_and_torch_agree(case, torchs):
    start = arrays_of(case)
    found = ours(case)
    expected = {name[len(case) + 1 :]: values for name, values in torchs.items() if name.startswith(case + "/")}
    assert set(expected) == set(found)
    for name, values in found.items():
        ours_here, theirs = values, expected[name]
        if name.startswith("after/"):  # the change, which is what was computed; the start would hide its error
            ours_here, theirs = (each - start[name[len("after/") :]] for each in (values, theirs))
        assert ours_here.shape == theirs.shape, name
        scale = max(numpy.linalg.norm(theirs), 1e-6)
        assert numpy.linalg.norm(ours_here - theirs) / scale < TOLERANCE, name


def test_every_op_of_the_host_is_compared():
    assert {op["op"] for case in ALONE for op in alone(case)["ops"]} == set(HOST_OPS)
    assert {case.split(",")[0].split(" ")[0] for case in ALONE} == set(HOST_OPS), "and has a case of its own"
