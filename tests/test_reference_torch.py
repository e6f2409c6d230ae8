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
from worker.reference import OPS
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


def tail(g, x):
    """End a network that tests one op: weigh every element of its output differently."""
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
}


def alone(case):
    """Return the gate graph of one op between the input and a dense layer."""
    shape, define = ALONE[case]
    return graph.build(lambda g: tail(g, define(g, g.input(shape))), "one_op", "gate", {}, "gate")


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
        arrays["x{}".format(step)] = generator.normal(size=(batch, *lowered["input"]["shape"])).astype(numpy.float32)
        arrays["y{}".format(step)] = generator.randint(0, lowered["classes"], batch)
    return arrays


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


def test_every_op_is_compared_alone():
    assert {case.split(",")[0].split(" ")[0] for case in ALONE} == set(OPS)
