"""A graph in PyTorch float64, from plain functions and autograd: the second opinion on the reference.

Run by test_reference_torch.py under the torch environment's Python:
    python torch_float64.py JOB.json OUT.npz
JOB holds {name: job}; OUT gets every array as <name>/<array>. A job has graph, arrays (.npz of weights, buffers and the
batches x0, y0, x1, ...), steps, training, optimizer, and learning_rates, one a step.
"""

import json
import sys

import numpy
import torch
from torch.nn import functional

torch.set_num_threads(1)


def padded(x, padding, value=0.0):
    top, bottom, left, right = padding
    return functional.pad(x, (left, right, top, bottom), value=value)


def conv2d(x, a, p, training):
    return functional.conv2d(padded(x, a["padding"]), p["weight"], p.get("bias"), a["stride"], groups=a["groups"])


def max_pool2d(x, a, p, training):
    # ceil_mode drops a window that starts in torch's own padding, so padding is left to torch wherever it can be
    top, bottom, left, right = a["padding"]
    ceil = a["rounding"] == "ceil"
    if (top, left) == (bottom, right):
        return functional.max_pool2d(x, a["kernel"], a["stride"], (top, left), ceil_mode=ceil)
    assert not ceil
    return functional.max_pool2d(padded(x, a["padding"], -numpy.inf), a["kernel"], a["stride"])


def avg_pool2d(x, a, p, training):
    top, bottom, left, right = a["padding"]
    ceil, count = a["rounding"] == "ceil", a["count_padding"]
    if (top, left) == (bottom, right):
        return functional.avg_pool2d(x, a["kernel"], a["stride"], (top, left), ceil, count)
    assert not ceil
    mean = functional.avg_pool2d(padded(x, a["padding"]), a["kernel"], a["stride"])
    if count:
        return mean
    return mean / functional.avg_pool2d(padded(torch.ones_like(x), a["padding"]), a["kernel"], a["stride"])


def batch_norm(x, a, p, training):
    mean, variance = p["running_mean"], p["running_variance"]
    return functional.batch_norm(x, mean, variance, p["gamma"], p["beta"], training, 1 - a["momentum"], a["epsilon"])


OPS = {
    "dense": lambda x, a, p, training: functional.linear(x, p["weight"], p.get("bias")),
    "conv2d": conv2d,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "batch_norm": batch_norm,
    "global_avg_pool": lambda x, a, p, training: x.mean((2, 3)),
    "relu": lambda x, a, p, training: functional.relu(x),
    "sigmoid": lambda x, a, p, training: torch.sigmoid(x),
    "tanh": lambda x, a, p, training: torch.tanh(x),
    "dropout": lambda x, a, p, training: functional.dropout(x, a["rate"], training),
    "flatten": lambda x, a, p, training: x.flatten(1),
}


def forward(graph, tensors, x, y, training):
    """Return (loss, logits)."""
    values = {graph["input"]["value"]: x}
    for op in graph["ops"]:
        read = [values[name] for name in op["inputs"]]
        own = {role: tensors[name] for role, name in {**op["parameters"], **op["buffers"]}.items()}
        if op["op"] == "add":
            values[op["name"]] = read[0] + read[1]
        elif op["op"] == "softmax_cross_entropy":
            values[op["name"]] = functional.cross_entropy(read[0], y)
        else:
            values[op["name"]] = OPS[op["op"]](read[0], op["attributes"], own, training)
    return values[graph["loss"]], values[graph["logits"]]


def run(job):
    """Return {name: array}: losses, logits and gradients of the first step, all tensors after the last."""
    graph, found, losses = job["graph"], {}, []
    with numpy.load(job["arrays"]) as file:
        arrays = {name: torch.tensor(file[name]) for name in file.files}
    names = [each["name"] for each in graph["parameters"]]
    tensors = {each["name"]: arrays[each["name"]].double() for each in graph["parameters"] + graph["buffers"]}
    for name in names:
        tensors[name].requires_grad_(True)
    decayed = [tensors[each["name"]] for each in graph["parameters"] if each["kind"] == "weight"]
    others = [tensors[each["name"]] for each in graph["parameters"] if each["kind"] != "weight"]
    groups = [{"params": decayed, "weight_decay": job["optimizer"]["weight_decay"]}, {"params": others}]
    optimizer = torch.optim.SGD(
        [each for each in groups if each["params"]], lr=1.0, momentum=job["optimizer"]["momentum"]
    )
    for step, learning_rate in enumerate(job["learning_rates"]):
        x = arrays["x{}".format(step)].double().requires_grad_(True)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        optimizer.zero_grad()
        loss, logits = forward(graph, tensors, x, arrays["y{}".format(step)], job["training"])
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            found["logits"] = logits.detach().numpy()
            found["gradient/input"] = x.grad.numpy().copy()
            found.update(("gradient/" + name, tensors[name].grad.numpy().copy()) for name in names)
        optimizer.step()
    found["losses"] = numpy.array(losses)
    found.update(("after/" + name, values.detach().numpy()) for name, values in tensors.items())
    return found


with open(sys.argv[1]) as file:
    jobs = json.load(file)
numpy.savez(sys.argv[2], **{key + "/" + name: v for key, job in jobs.items() for name, v in run(job).items()})
