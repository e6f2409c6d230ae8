"""The task `gate`: five training steps on given weights and batches, every tensor written for comparison.

Nothing is judged here: the worker of any framework, the float64 reference included, writes what it computed, and the
host compares. Gate cells start from random biases and statistics, use momentum and weight decay and change the learning
rate, because a mistake in any of these is invisible otherwise.
"""

import json
import os

import numpy

from worker import weights as starting_weights
from worker.channel import number


def run(job, channel, adapter_module):
    """Run the trajectory with the cell's adapter and write its arrays into the job's output folder."""
    with open(job["graph"], encoding="utf-8") as file:
        graph = json.load(file)
    arrays = starting_weights.load(job["arrays"])
    batches = read_batches(job["batches"])
    channel.phase = "gate"
    found, facts = trajectory(adapter_module.Adapter, job["cell"], graph, arrays, batches, job["gate"])
    channel.send("built", weights_sha256=starting_weights.sha256(arrays), **facts)
    losses = [[step, number(value)] for step, value in enumerate(found["loss"])]
    channel.send("result", losses=losses, arrays=write_arrays(found, job["output"]))


def read_batches(descriptions):
    """Return [(inputs, targets), ...] from the .npy files of the job."""
    return [(numpy.load(batch["inputs"]), numpy.load(batch["targets"])) for batch in descriptions]


def write_arrays(found, folder):
    """Write each array as a .npy file of its own; return {name: file name}."""
    files = {}
    for index, name in enumerate(sorted(found)):
        files[name] = "{:04d}.npy".format(index)
        numpy.save(os.path.join(folder, files[name]), numpy.asarray(found[name]))
    return files


def trajectory(make, cell, graph, arrays, batches, settings, diagnose=True):
    """Return ({name: array}, facts) of one plain step and of five steps with momentum, decay and a rate change.

    make      callable like an Adapter class
    arrays    {name: array}: the starting parameters and buffers, graph layouts
    batches   [(inputs, targets)]: one for each of the five steps
    settings  learning_rates (five), momentum, weight_decay, gradient_learning_rate, and for the reference the forms
    diagnose  also take the value of every op (value/O), where the adapter shows them, and a second plain step (again/T)
    names     loss (5), logits, inference_logits, evaluation_loss; gradient/T, update1/T, update5/T for each
              parameter T; buffer/B
    """
    found = {}
    plain = dict(settings["forms"], name="sgd", momentum=0.0, weight_decay=0.0)
    plain["learning_rate"] = settings["gradient_learning_rate"]
    logits, gradients = plain_step(make, cell, graph, arrays, batches, plain)
    found["logits"] = logits
    found.update(("gradient/" + name, value) for name, value in gradients.items())
    if diagnose:
        _, gradients = plain_step(make, cell, graph, arrays, batches, plain)
        found.update(("again/" + name, value) for name, value in gradients.items())
        found.update(("value/" + name, value) for name, value in values(make, cell, graph, arrays, batches, plain))

    adapter = start(make, dict(cell, mode="infer"), graph, arrays, plain, batches)
    adapter.step(0)
    adapter.synchronize()
    found["inference_logits"] = adapter.logits()  # of the step that is timed in mode infer, not of evaluate()
    adapter.close()

    rates = settings["learning_rates"]
    full = dict(plain, momentum=settings["momentum"], weight_decay=settings["weight_decay"], learning_rate=rates[0])
    adapter = start(make, cell, graph, arrays, full, batches)
    facts = describe(adapter)
    losses = []
    for step, rate in enumerate(rates):
        if step and rate != rates[step - 1]:
            adapter.set_learning_rate(rate)
        adapter.step(step)
        adapter.synchronize()
        losses.append(float(adapter.loss()))
        if step == 0:
            found.update(("update1/" + name, value) for name, value in moved(adapter, graph, arrays).items())
    found["loss"] = numpy.array(losses)
    found.update(("update5/" + name, value) for name, value in moved(adapter, graph, arrays).items())
    found.update(("buffer/" + name, value) for name, value in adapter.buffers().items())
    found["evaluation_loss"] = numpy.array(float(adapter.evaluate(*batches[0])[0]))
    adapter.close()
    return found, facts


def plain_step(make, cell, graph, arrays, batches, optimizer):
    """Return (logits, {parameter: gradient}) of one step without momentum and decay."""
    adapter = start(make, cell, graph, arrays, optimizer, batches)
    adapter.step(0)
    adapter.synchronize()
    logits = adapter.logits()
    if hasattr(adapter, "gradients"):
        gradients = adapter.gradients()
    else:  # a power of two as rate: the division is exact, and so large that the subtraction costs nothing
        rate = optimizer["learning_rate"]
        gradients = {name: -step / rate for name, step in moved(adapter, graph, arrays).items()}
    adapter.close()
    return logits, gradients


def values(make, cell, graph, arrays, batches, optimizer):
    """Return [(op, its value)] of a forward pass in training mode; nothing where the adapter does not show them."""
    adapter = start(make, cell, graph, arrays, optimizer, batches)
    shown = adapter.values(0) if hasattr(adapter, "values") else {}
    adapter.close()
    return sorted(shown.items())


def start(make, cell, graph, arrays, optimizer, batches):
    """Return a fresh adapter, built and fed."""
    adapter = make(cell)
    adapter.build(graph, {name: value.copy() for name, value in arrays.items()}, optimizer)
    for index, (inputs, targets) in enumerate(batches):
        adapter.feed(index, inputs, targets)
    return adapter


def moved(adapter, graph, arrays):
    """Return {parameter: how far it has moved from its start}, in float64; tensors that had no such start left out."""
    now = {name: value for name, value in adapter.parameters().items() if name in arrays}
    now = {name: value for name, value in now.items() if value.shape == arrays[name].shape}
    return {name: value.astype(numpy.float64) - arrays[name].astype(numpy.float64) for name, value in now.items()}


def describe(adapter):
    """Return what the adapter says of itself once built: counts, shapes, versions, knobs."""
    parameters = adapter.parameters()
    return {
        "parameter_count": int(sum(value.size for value in parameters.values())),
        "shapes": {name: list(value.shape) for name, value in parameters.items()},
        "versions": adapter.versions(),
        "knobs": adapter.knobs(),
    }
