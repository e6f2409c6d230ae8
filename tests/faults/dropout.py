"""Faults of dropout, which is off in the gate and held by the contract's checks instead."""

from faults.faulty import Faulty
from faults.kinds import behaves, enter


def places(graph):
    """Return the network as one place if there is dropout in it."""
    return [("dropout", "")] if any(op["op"] == "dropout" for op in graph["ops"]) else []


def of_every_dropout(name, change, needs=()):
    """Enter the kind of fault in which change(op) is done to every dropout of whatever graph is built."""

    def plant(fault, place):
        for op in fault.graph["ops"]:
            if op["op"] == "dropout":
                change(op)

    enter(name, "dropout", places, plant, needs)


of_every_dropout("dropout in evaluation", lambda op: op.update(op="dropout_always"), ("dropout_always",))
of_every_dropout("dropout not scaled up", lambda op: op.update(op="dropout_unscaled"), ("dropout_unscaled",))
of_every_dropout("rate taken for what is kept", lambda op: op.update(attributes={"rate": kept(op)}))
of_every_dropout("no dropout", lambda op: op.update(attributes={"rate": 0.0}))
of_every_dropout("rate is the tool's default", lambda op: op.update(attributes={"rate": 0.5}))


def kept(op):
    """Return one minus the rate, where there is a rate."""
    return 1.0 - op["attributes"]["rate"] if op["attributes"]["rate"] else 0.0


@behaves("the same mask in each step", "dropout", ("seed",), places)
class SameMask(Faulty):
    def step(self, index):
        self.tools.seed(1)
        self.adapter.step(index)


@behaves("dropout off in training", "dropout", places=places)
class OnlyEvaluation(Faulty):
    """Training steps that are made in evaluation mode: their logits are those of evaluate()."""

    def logits(self):
        return self.adapter.evaluate(*self.first)[1]

    def feed(self, index, inputs, targets):
        self.first = self.first if index else (inputs, targets)
        super(OnlyEvaluation, self).feed(index, inputs, targets)
