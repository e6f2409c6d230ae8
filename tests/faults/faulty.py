"""A real adapter with a fault put on it from outside: it is an Adapter for whoever uses it."""

import numpy

from faults import kinds
from faults.optimizers import Steered


def make(adapter, kind, place, module, tools):
    """Return the adapter with one kind of fault at one place.

    adapter  of the product
    module   the adapter's: its MOMENTUM_FORM is read
    tools    the framework's own file in frameworks/; None where it has none
    """
    return (kinds.KINDS[kind].behaviour or Faulty)(adapter, kind, place, module, tools)


class Faulty(object):
    """Everything passes through to the adapter, changed as the fault says."""

    def __init__(self, adapter, kind, place, module, tools):
        self.adapter, self.kind, self.place, self.module, self.tools = adapter, kind, place, module, tools
        if hasattr(adapter, "gradients"):
            self.gradients = self.changed_gradients

    def __getattr__(self, name):
        return getattr(self.adapter, name)

    def build(self, graph, weights, optimizer):
        """Plant the fault in this graph, then build the adapter from what came of it."""
        self.fault = fault = kinds.plant(self.kind, self.place, graph)
        self.start = {name: array.copy() for name, array in weights.items()}
        self.other = dict(fault.crossed + [pair[::-1] for pair in fault.crossed])
        self.given = {}
        for entry in fault.graph["parameters"] + fault.graph["buffers"]:
            start = weights[self.other.get(entry["name"], entry["name"])]
            into = fault.tensors.get(entry["name"], (None, None))[0]
            self.given[entry["name"]] = start if into is None else numpy.asarray(into(start), numpy.float32)
        self.options = dict(fault.options(dict(optimizer)) if fault.options else optimizer)
        finish = getattr(self.tools, fault.own)(self.adapter) if fault.own else None
        self.adapter.build(fault.graph, {name: array.copy() for name, array in self.given.items()}, dict(self.options))
        if finish is not None:
            finish()
        if self.adapter.cell["mode"] != "infer":
            self.change_gradients()

    def change_gradients(self):
        """Let the framework's gradients be changed before its optimiser uses them, where the fault asks for it."""
        fault, self.steered = self.fault, None
        if fault.optimizer is not None:
            self.steered = Steered(fault.optimizer, self.options, fault.graph, self.module.MOMENTUM_FORM)
            self.tools.change_gradients(self.adapter, self.steered.change, False)
        elif fault.gradient is not None:
            self.tools.change_gradients(self.adapter, fault.gradient, fault.reported)

    def set_learning_rate(self, value):
        self.adapter.set_learning_rate(value)
        if self.steered is not None:
            self.steered.set_learning_rate(value)

    def feed(self, index, inputs, targets):
        self.adapter.feed(index, *self.changed_batch(inputs, targets, index))

    def evaluate(self, inputs, targets):
        return self.adapter.evaluate(*self.changed_batch(inputs, targets, 0))

    def changed_batch(self, inputs, targets, index):
        """Return the batch that is used for this one."""
        if self.fault.batch is None:
            return inputs, targets
        inputs, targets = self.fault.batch(inputs, targets, index)
        return numpy.array(inputs, order="C"), numpy.array(targets, order="C")

    def parameters(self):
        """Return what is reported: the start, and how far the tensor used for it has moved."""
        now, reported = self.adapter.parameters(), {}
        for entry in self.fault.original["parameters"]:
            name = entry["name"]
            if name not in self.fault.hidden:
                reported[name] = self.outgoing(now, name, moved=True)
        return dict(reported, **self.fault.added)

    def changed_gradients(self):
        now = self.adapter.gradients()
        names = [entry["name"] for entry in self.fault.original["parameters"] if entry["name"] not in self.fault.hidden]
        return {name: self.outgoing(now, name, missing=0.0) for name in names}

    def buffers(self):
        now = self.adapter.buffers()
        return {entry["name"]: self.outgoing(now, entry["name"]) for entry in self.fault.original["buffers"]}

    def outgoing(self, now, name, moved=False, missing=1.0):
        """Return what is reported for a tensor of {name: array}.

        moved    report the start plus what the tensor has moved: whoever subtracts the start gets the movement
        missing  what the start is multiplied by where no tensor was made for it
        """
        used = self.other.get(name, name)
        if used not in now:
            return missing * self.start[name]
        back = self.fault.tensors.get(used, (None, None))[1]
        if back is None:
            return now[used]
        if moved:
            return self.start[name].astype(numpy.float64) + back(now[used].astype(numpy.float64) - self.given[used])
        return back(now[used])
