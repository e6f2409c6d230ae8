"""Faults in MXNet's own terms."""

import math

import mxnet
import numpy

OFFERS = (
    "change_gradients",
    "seed",
    "scaled",
    "elements",
    "softmax",
    "detached",
    "batch_norm_unbiased",
    "batch_norm_evaluation",
    "dropout_always",
    "dropout_unscaled",
)
OWN = {
    "gradients_added_by_its_own": "",
    "nesterov_of_its_own": "",
    "step_without_the_batch": "",
    "fix_gamma_of_its_own": "batch_norm",
    "second_bias_trained": "lstm",
}


def change_gradients(adapter, change, reported):
    """Change the gradients just before trainer.step, and put them back afterwards unless they are to be reported."""
    names, step = [entry["name"] for entry in adapter.graph["parameters"]], adapter.trainer.step

    def changed_step(samples, **more):
        gradients = {name: adapter.tensors[name].grad() for name in names}
        before = {name: gradient.asnumpy() for name, gradient in gradients.items()}
        share = numpy.float32(adapter.trainer._scale / samples)  # MXNet's are sums
        for name, gradient in gradients.items():
            made = change(name, before[name] * share, adapter.tensors[name].data().asnumpy())
            gradient[:] = mxnet.nd.array(numpy.asarray(made, numpy.float32) / share)
        step(samples, **more)
        if not reported:
            for name, gradient in gradients.items():
                gradient[:] = mxnet.nd.array(before[name])

    adapter.trainer.step = changed_step


def seed(value):
    mxnet.random.seed(value)


def operations(module):
    def scaled(F, op, shape, tensors, x):
        factors = numpy.asarray(op["attributes"]["factors"], numpy.float32)
        if not factors.ndim:
            return x * float(factors)
        return F.broadcast_mul(x, F.array(factors.reshape((1,) * (x.ndim - 1) + (-1,))))

    def elements(F, op, shape, tensors, x):
        return F.take(x.reshape((x.shape[0], -1)), F.array(op["attributes"]["order"]), axis=1).reshape(x.shape)

    def batch_norm_evaluation(F, op, shape, tensors, x):
        roles, attributes = dict(op["parameters"], **op["buffers"]), op["attributes"]
        inputs = [tensors[roles[role]] for role in ("gamma", "beta", "running_mean", "running_variance")]
        settings = {"eps": attributes["epsilon"], "momentum": attributes["momentum"], "use_global_stats": True}
        return F.BatchNorm(x, *inputs, fix_gamma=False, axis=1, **settings)

    def batch_norm_unbiased(F, op, shape, tensors, x):
        count = float(x.shape[0] * numpy.prod(shape[1:]))
        factor = math.sqrt((count - 1.0) / count) if mxnet.autograd.is_training() else 1.0
        gamma = op["parameters"]["gamma"]
        return module.OPS["batch_norm"](F, op, shape, dict(tensors, **{gamma: tensors[gamma] * factor}), x)

    def dropout_unscaled(F, op, shape, tensors, x):
        y = module.OPS["dropout"](F, op, shape, tensors, x)
        return y * (1.0 - op["attributes"]["rate"]) if mxnet.autograd.is_training() else y

    def dropout_always(F, op, shape, tensors, x):
        return F.Dropout(x, p=op["attributes"]["rate"], mode="always") if op["attributes"]["rate"] else x

    return {
        "scaled": scaled,
        "elements": elements,
        "softmax": lambda F, op, shape, tensors, x: F.softmax(x),
        "detached": lambda F, op, shape, tensors, x: F.BlockGrad(x),
        "batch_norm_evaluation": batch_norm_evaluation,
        "batch_norm_unbiased": batch_norm_unbiased,
        "dropout_unscaled": dropout_unscaled,
        "dropout_always": dropout_always,
    }


def gradients_added_by_its_own(adapter):
    """grad_req="add", and nobody sets the gradients to zero."""

    def finish():
        if adapter.cell["mode"] != "infer":
            for entry in adapter.graph["parameters"]:
                adapter.tensors[entry["name"]].grad_req = "add"

    return finish


def nesterov_of_its_own(adapter):
    def finish():
        if adapter.cell["mode"] != "infer":
            options = adapter.trainer.optimizer
            settings = {"learning_rate": options.learning_rate, "momentum": options.momentum, "wd": options.wd}
            tensors = adapter.network.collect_params()
            adapter.trainer = mxnet.gluon.Trainer(tensors, "nag", settings, kvstore=None)

    return finish


def step_without_the_batch(adapter):
    """Trainer.step(1): the sum over the batch instead of its mean."""

    def finish():
        if adapter.cell["mode"] != "infer":
            step = adapter.trainer.step
            adapter.trainer.step = lambda samples, **more: step(1, **more)

    return finish


def fix_gamma_of_its_own(adapter):
    """BatchNorm's default: gamma is taken for 1 and set to 1."""

    def batch_norm(F, op, shape, tensors, x):
        roles, attributes = dict(op["parameters"], **op["buffers"]), op["attributes"]
        inputs = [tensors[roles[role]] for role in ("gamma", "beta", "running_mean", "running_variance")]
        return F.BatchNorm(x, *inputs, eps=attributes["epsilon"], momentum=attributes["momentum"], axis=1)

    def finish():
        adapter.network.ops = dict(adapter.network.ops, batch_norm=batch_norm)

    return finish


def second_bias_trained(adapter):
    """As gluon's own LSTM: the second bias vector is trained too, and the sum of both moves twice as far."""

    def finish():
        for op in adapter.graph["ops"] if adapter.cell["mode"] != "infer" else ():
            if op["op"] == "lstm":
                second = adapter.tensors[op["name"] + ".constant"]
                second.__class__ = mxnet.gluon.Parameter  # a Constant cannot be trained
                second._differentiable, second.wd_mult = True, 0.0
                second.grad_req = "write"

    return finish
