"""Faults in PyTorch's own terms."""

import torch

from faults import makers

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
    "zero_grad_forgotten": "",
    "nesterov_of_its_own": "",
    "dampening_of_its_own": "",
    "maximize_of_its_own": "",
    "second_bias_trained": "lstm",
    "loss_summed_by_its_own": "",
}


def change_gradients(adapter, change, reported):
    """Change .grad just before optimizer.step, and put it back afterwards unless it is to be reported."""
    names = [entry["name"] for entry in adapter.graph["parameters"]]
    step = adapter.optimizer.step

    def changed_step(*arguments):
        tensors = {name: adapter.tensors[name] for name in names}
        before = {name: tensor.grad.clone() for name, tensor in tensors.items()}
        for name, tensor in tensors.items():
            made = change(name, tensor.grad.numpy().copy(), tensor.detach().numpy().copy())
            tensor.grad.copy_(torch.as_tensor(made))
        step(*arguments)
        if not reported:
            for name, tensor in tensors.items():
                tensor.grad.copy_(before[name])

    adapter.optimizer.step = changed_step


def seed(value):
    torch.manual_seed(value)


def operations(module):
    def scaled(op, tensors, shape):
        factors = torch.tensor(op["attributes"]["factors"])
        return lambda training, x: x * factors

    def elements(op, tensors, shape):
        order = op["attributes"]["order"]
        return lambda training, x: x.reshape(len(x), -1)[:, order].reshape(x.shape)

    return dict(
        makers.variants(module.OPS),
        scaled=scaled,
        elements=elements,
        softmax=lambda op, tensors, shape: lambda training, x: torch.softmax(x, -1),
        detached=lambda op, tensors, shape: lambda training, x: x.detach() + 0.0 * x,
    )


def group_setting(adapter, **settings):
    """Return the function that sets these in all groups of the optimiser once it is built."""

    def finish():
        for group in adapter.optimizer.param_groups if adapter.cell["mode"] != "infer" else ():
            group.update(settings)

    return finish


def zero_grad_forgotten(adapter):
    def finish():
        if adapter.cell["mode"] != "infer":
            adapter.optimizer.zero_grad = lambda set_to_none=True: None

    return finish


def nesterov_of_its_own(adapter):
    def finish():
        for group in adapter.optimizer.param_groups if adapter.cell["mode"] != "infer" else ():
            group["nesterov"] = group["momentum"] > 0

    return finish


def dampening_of_its_own(adapter):
    """1 - dampening is what the gradient enters the velocity with, but for the first."""
    return group_setting(adapter, dampening=0.9)


def maximize_of_its_own(adapter):
    return group_setting(adapter, maximize=True)


def second_bias_trained(adapter):
    """As nn.LSTM's parameters: the second bias vector is trained too, and the sum of both moves twice as far."""
    made, own, trained = [], torch.zeros_like, adapter.cell["mode"] != "infer"

    def zeros_like(tensor, **settings):
        made.append(own(tensor, **dict(settings, requires_grad=trained)))
        return made[-1]

    def finish():
        torch.zeros_like = own
        if trained:
            adapter.optimizer.add_param_group({"params": made, "weight_decay": 0.0})

    torch.zeros_like = zeros_like
    return finish


def loss_summed_by_its_own(adapter):
    """reduction="sum", in the step and in evaluation."""
    own = torch.nn.functional.cross_entropy

    def summed(logits, targets):
        return own(logits, targets, reduction="sum")

    def around(function):
        def call(*arguments):
            torch.nn.functional.cross_entropy = summed
            try:
                return function(*arguments)
            finally:
                torch.nn.functional.cross_entropy = own

        return call

    def finish():
        adapter.run, adapter.evaluate = around(adapter.run), around(adapter.evaluate)

    return finish
