"""One adapter on one network: cells, start values, batches, and adapters built from them."""

import json

import numpy

from worker import weights

PLAIN = {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9, "weight_decay": 0.0}


class Subject:
    """What a check is about.

    module, framework, execution  the adapter's module, the framework key, one of the module's EXECUTIONS
    gate_graph, training_graph    the network's gate size with the gate's and with training's start (and dropout)
    start, batches, settings      arrays, [(inputs, targets)] and settings of the gate's trajectory
    """

    def __init__(self, module, framework, execution, description):
        self.module, self.framework, self.execution = module, framework, execution
        self.gate_graph = read(description["gate_graph"])
        self.training_graph = read(description["training_graph"])
        self.start = weights.load(description["start"])
        self.batches = [(numpy.load(batch["inputs"]), numpy.load(batch["targets"])) for batch in description["batches"]]
        self.settings = description["settings"]

    def cell(self, **changes):
        """Return a cell of this adapter; `changes` replace axes."""
        cell = {"framework": self.framework, "network": self.gate_graph["network"], "mode": "gate", "feeding": "step"}
        cell.update(batch=len(self.batches[0][1]), devices=1, threads=1, precision="float32", accelerator="cpu")
        cell.update(execution=self.execution, optimizer="sgd", learning_rate=0.05, momentum=0.9, weight_decay=0.0)
        return dict(cell, **changes)

    def build(self, graph=None, start=None, optimizer=None, **changes):
        """Return a fresh adapter, built and fed with the batches; by default the gate's graph and start."""
        adapter = self.module.Adapter(self.cell(**changes))
        start = self.start if start is None else start
        start = {name: array.copy() for name, array in start.items()}
        adapter.build(self.gate_graph if graph is None else graph, start, dict(PLAIN, **(optimizer or {})))
        for index, (inputs, targets) in enumerate(self.batches):
            adapter.feed(index, inputs, targets)
        return adapter

    def has(self, graph, op):
        """Say whether the graph has an op of this kind (a dropout counts only with a rate above 0)."""
        return any(each["op"] == op and each["attributes"].get("rate", 1.0) > 0 for each in graph["ops"])


def read(path):
    """Return the content of a JSON file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def run(adapter, index=0):
    """Run one step to its end and return its loss."""
    adapter.step(index)
    adapter.synchronize()
    return adapter.loss()
