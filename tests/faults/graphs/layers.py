"""Faults of layers with parameters: biases, batch normalisation, layer normalisation, widths."""

from faults.fault import DoesNotApply
from faults.kinds import on_ops, on_tensors

BIASED = ("dense", "conv2d")
NORMS = ("batch_norm", "layer_norm")


def attribute(name, value, what, *ops):
    """Enter the kind of fault in which an attribute of these ops has this value."""

    @on_ops(what, *ops)
    def plant(fault, op):
        if op["attributes"][name] == value:
            raise DoesNotApply("{} has that already".format(op["name"]))
        op["attributes"][name] = value


attribute("epsilon", 1e-3, "epsilon is 1e-3", *NORMS)  # Keras
attribute("epsilon", 2e-5, "epsilon is 2e-5", *NORMS)  # MXNet's examples
attribute("epsilon", 1e-6, "epsilon is 1e-6", "layer_norm")  # JAX's libraries
attribute("momentum", 0.99, "running momentum is 0.99", "batch_norm")  # Keras
attribute("momentum", 0.1, "running momentum is the new batch's share", "batch_norm")  # torch counts so
attribute("momentum", 1.0, "running statistics are not updated", "batch_norm")


@on_ops("bias dropped", *BIASED)
def bias_dropped(fault, op):
    """The layer has none; the parameter is reported all the same, and never moves."""
    if "bias" not in op["parameters"]:
        raise DoesNotApply("{} has no bias".format(op["name"]))
    fault.drop_tensor(op, "bias")


@on_ops("bias missing", *BIASED)
def bias_missing(fault, op):
    """The layer has none, and says so."""
    bias_dropped(fault, op)
    fault.hidden.add(fault_name(op, "bias"))


def fault_name(op, role):
    """Return the name of an op's tensor, also of one that it has no more."""
    return "{}.{}".format(op["name"], role)


@on_tensors("bias starts at 0", ("dense.bias", "conv2d.bias", "lstm.bias"), "graph")
def bias_starts_at_0(fault, tensor):
    fault.start_at(tensor, 0.0)


@on_tensors("gamma starts at 1", ("batch_norm.gamma", "layer_norm.gamma"), "graph")
def gamma_starts_at_1(fault, tensor):
    fault.start_at(tensor, 1.0)


@on_tensors("beta starts at 0", ("batch_norm.beta", "layer_norm.beta"), "graph")
def beta_starts_at_0(fault, tensor):
    fault.start_at(tensor, 0.0)


@on_tensors("gamma frozen at 1", ("batch_norm.gamma",), "gradient", needs=("change_gradients",))
def gamma_frozen(fault, tensor):
    """MXNet's default, fix_gamma."""
    fault.start_at(tensor, 1.0)
    fault.gradient = lambda name, gradient, value: 0.0 * gradient if name == tensor else gradient


@on_ops("running mean starts at 0", "batch_norm")
def running_mean_starts_at_0(fault, op):
    fault.start_at(op["buffers"]["running_mean"], 0.0)


@on_ops("running variance starts at 1", "batch_norm")
def running_variance_starts_at_1(fault, op):
    fault.start_at(op["buffers"]["running_variance"], 1.0)


@on_ops("normalised by the unbiased variance", "batch_norm", needs=("batch_norm_unbiased",))
def unbiased_variance(fault, op):
    op["op"] = "batch_norm_unbiased"


@on_ops("evaluation statistics in training", "batch_norm", needs=("batch_norm_evaluation",))
def evaluation_statistics(fault, op):
    op["op"] = "batch_norm_evaluation"


@on_ops("gamma and beta taken for each other", *NORMS)
def gamma_for_beta(fault, op):
    fault.crossed.append((op["parameters"]["gamma"], op["parameters"]["beta"]))


@on_ops("running mean and variance taken for each other", "batch_norm")
def mean_for_variance(fault, op):
    fault.crossed.append((op["buffers"]["running_mean"], op["buffers"]["running_variance"]))


@on_ops("width one more", "dense")
def width_one_more(fault, op):
    op["attributes"]["units"] += 1
    fault.refit()


@on_ops("widths swapped with the next layer", "dense")
def widths_swapped(fault, op):
    """As in one tool of the first study: 4096-2048 for 2048-4096."""
    later = [each for each in fault.graph["ops"] if each["op"] == "dense"]
    place = [each["name"] for each in later].index(op["name"])
    if place + 1 == len(later) or later[place + 1]["attributes"]["units"] == op["attributes"]["units"]:
        raise DoesNotApply("there is no next layer of another width")
    other = later[place + 1]["attributes"]
    op["attributes"]["units"], other["units"] = other["units"], op["attributes"]["units"]
    fault.refit()


@on_ops("groups ignored", "conv2d")
def groups_ignored(fault, op):
    if op["attributes"]["groups"] == 1:
        raise DoesNotApply("it has one group")
    op["attributes"]["groups"] = 1
    fault.refit()
