"""Faults of operations element by element, and of layers that are left out or put in."""

from faults.fault import DoesNotApply
from faults.kinds import on_networks, on_ops

OTHER = {"relu": "sigmoid", "sigmoid": "tanh", "tanh": "sigmoid", "add": "multiply", "multiply": "add"}
ON_LOGITS = ("relu", "sigmoid", "tanh")


@on_ops("another operation", *OTHER)
def another_operation(fault, op):
    op["op"] = OTHER[op["op"]]


@on_ops("the other GELU", "gelu")
def other_gelu(fault, op):
    op["attributes"]["approximation"] = {"erf": "tanh", "tanh": "erf"}[op["attributes"]["approximation"]]


@on_ops("layer skipped")
def layer_skipped(fault, op):
    if op["op"] == "dropout":
        raise DoesNotApply("the gate has its rate at 0")
    fault.bypass(op["name"])


@on_ops("first branch dropped", "add", "multiply")
def first_branch_dropped(fault, op):
    fault.bypass(op["name"], 1)


@on_ops("layer twice", "relu", "sigmoid", "tanh", "gelu", "local_response_norm")
def layer_twice(fault, op):
    """As a ReLU behind a pooling that has one before it already; twice a ReLU is one ReLU, and not planted."""
    if op["op"] == "relu":
        raise DoesNotApply("twice is once")
    fault.insert(op["name"], op["op"], dict(op["attributes"]))


def activation_on_logits(kind):
    """Enter the kind of fault that puts this activation on the logits."""

    @on_networks("{} on the logits".format(kind), "graph")
    def plant(fault):
        fault.insert(fault.graph["logits"], kind)


for activation in ON_LOGITS:
    activation_on_logits(activation)


@on_networks("softmax twice", "graph", needs=("softmax",))
def softmax_twice(fault):
    fault.insert(fault.graph["logits"], "softmax")


@on_networks("logits halved", "graph", needs=("scaled",))
def logits_halved(fault):
    """A temperature that nobody asked for."""
    fault.insert(fault.graph["logits"], "scaled", {"factors": 0.5})


@on_ops("no gradient below", "add", "relu", "gelu", "tanh", "layer_norm", needs=("detached",))
def no_gradient_below(fault, op):
    """A layer that is cut off from what the loss tells: it computes and never learns."""
    fault.insert(op["inputs"][-1], "detached", reader=op)
