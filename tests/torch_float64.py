"""A graph in PyTorch float64, from plain functions and autograd: the second opinion on the reference.

Run by test_reference_torch.py under the torch environment's Python:
    python torch_float64.py JOB.json OUT.npz
JOB holds {name: job}; OUT gets every array as <name>/<array>. A job has graph, arrays (.npz of weights, buffers and the
batches x0, y0, x1, ...), training, optimizer, and learning_rates, one a step.
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
    # ceil_mode drops a window that starts in torch's own padding, so padding is left to torch wherever it can be; where
    # it cannot, a window that starts in the far padding would be one too many, and the shapes would not fit
    top, bottom, left, right = a["padding"]
    ceil = a["rounding"] == "ceil"
    if (top, left) == (bottom, right):
        return functional.max_pool2d(x, a["kernel"], a["stride"], (top, left), ceil_mode=ceil)
    return functional.max_pool2d(padded(x, a["padding"], -numpy.inf), a["kernel"], a["stride"], ceil_mode=ceil)


def avg_pool2d(x, a, p, training):
    top, bottom, left, right = a["padding"]
    ceil, count = a["rounding"] == "ceil", a["count_padding"]
    if (top, left) == (bottom, right):
        return functional.avg_pool2d(x, a["kernel"], a["stride"], (top, left), ceil, count)
    # what a window of ceil_mode hangs over is not counted; of what is counted, the ones say which share is no padding
    mean, share = (
        functional.avg_pool2d(padded(each, a["padding"]), a["kernel"], a["stride"], ceil_mode=ceil)
        for each in (x, torch.ones_like(x))
    )
    return mean if count else mean / share


def batch_norm(x, a, p, training):
    mean, variance = p["running_mean"], p["running_variance"]
    return functional.batch_norm(x, mean, variance, p["gamma"], p["beta"], training, 1 - a["momentum"], a["epsilon"])


def lstm(x, a, p, training):
    """What torch.nn.LSTM calls; its second bias is 0 and has no gradient."""
    zeros = torch.zeros(1, len(x), a["units"], dtype=x.dtype)
    weights = [p["weight_input"], p["weight_hidden"], p["bias"], torch.zeros_like(p["bias"])]
    return torch.lstm(x, (zeros, zeros), weights, True, 1, 0.0, training, False, True)[0]  # ..., both ways, batch first


def attention(x, a, p, training):
    query, key, value = (each.unflatten(2, (a["heads"], -1)).transpose(1, 2) for each in x.chunk(3, 2))
    y = functional.scaled_dot_product_attention(query, key, value, is_causal=a["causal"])
    return y.transpose(1, 2).flatten(2)


def gelu(x, a, p, training):
    return functional.gelu(x, approximate={"erf": "none", "tanh": "tanh"}[a["approximation"]])


def layer_norm(x, a, p, training):
    return functional.layer_norm(x, x.shape[-1:], p["gamma"], p["beta"], a["epsilon"])


def local_response_norm(x, a, p, training):
    return functional.local_response_norm(x, a["size"], a["alpha"], a["beta"], a["k"])


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
    "reshape": lambda x, a, p, training: x.reshape(len(x), *a["to"]),
    "embedding": lambda x, a, p, training: functional.embedding(x, p["weight"]),
    "position_embedding": lambda x, a, p, training: x + p["weight"],
    "gelu": gelu,
    "layer_norm": layer_norm,
    "local_response_norm": local_response_norm,
    "lstm": lstm,
    "attention": attention,
}
OF_SEVERAL = {
    "add": lambda read, a: read[0] + read[1],
    "multiply": lambda read, a: read[0] * read[1],
    "concat": lambda read, a: torch.cat(read, 1 + a["axis"]),
}


def forward(graph, tensors, x, y, training):
    """Return (loss, logits)."""
    values = {graph["input"]["value"]: x}
    for op in graph["ops"]:
        read = [values[name] for name in op["inputs"]]
        own = {role: tensors[name] for role, name in {**op["parameters"], **op["buffers"]}.items()}
        if op["op"] in OF_SEVERAL:
            values[op["name"]] = OF_SEVERAL[op["op"]](read, op["attributes"])
        elif op["op"] == "softmax_cross_entropy":
            values[op["name"]] = functional.cross_entropy(read[0].reshape(-1, graph["classes"]), y.reshape(-1))
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
        x = arrays["x{}".format(step)]
        if graph["input"]["dtype"] == "float32":
            x = x.double().requires_grad_(True)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate
        optimizer.zero_grad()
        loss, logits = forward(graph, tensors, x, arrays["y{}".format(step)], job["training"])
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            found["logits"] = logits.detach().numpy()
            if x.requires_grad:
                found["gradient/input"] = x.grad.numpy().copy()
            found.update(("gradient/" + name, tensors[name].grad.numpy().copy()) for name in names)
        optimizer.step()
    found["losses"] = numpy.array(losses)
    found.update(("after/" + name, values.detach().numpy()) for name, values in tensors.items())
    return found


with open(sys.argv[1]) as file:
    jobs = json.load(file)
numpy.savez(sys.argv[2], **{key + "/" + name: v for key, job in jobs.items() for name, v in run(job).items()})
