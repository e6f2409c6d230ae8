"""The reference: NumPy float64, every op as `worker/reference/` defines it. The gate's judge, not a competitor.

Weights, inputs and targets arrive as for any framework; all arithmetic, and all that is returned, is float64 whatever
the cell's precision, because a reference in float32 could not tell its own error from a framework's.
"""

import platform

import numpy

from worker.frameworks import KNOBS, VERSIONS, require, require_ops
from worker.reference import OPS
from worker.reference.network import Network

PROCESSES = "one"
ENVIRONMENT = {}
JUDGE = True  # a study's `framework: all` leaves it out
EXECUTIONS = ("eager",)
REVIEWED = "not reviewed"
MOMENTUM_FORM = "outside"  # "inside" too, by optimizer["momentum_form"]
RUNNING_VARIANCE = "biased"  # "unbiased" too, by optimizer["running_variance"]


class Adapter:
    """One training or inference step in NumPy. Its `network` is open to the gate, which watches and disturbs it."""

    def __init__(self, cell, rank=0, ranks=1):
        cell = dict(cell, feeding=cell.get("feeding", "step"), accelerator=cell.get("accelerator", "cpu"), ranks=ranks)
        require(cell, accelerator=("cpu",), precision=("float32",), execution=EXECUTIONS, optimizer=("sgd",))
        require(cell, devices=(1,), ranks=(1,), mode=("train", "infer", "gate"), feeding=("step", "resident"))
        self.cell, self.mode = cell, cell["mode"]
        self.batches = {}
        self.last_loss = None
        self.last_gradients = None

    def versions(self):
        """Return the versions of Python and NumPy."""
        return dict(VERSIONS, reference=numpy.__version__, python=platform.python_version())

    def knobs(self):
        """Return what is in force: NumPy in float64, nothing compiled."""
        return dict(KNOBS, device="cpu", layout="NCHW", threads=self.cell["threads"], tf32=False)

    def build(self, graph, weights, optimizer):
        """Take the graph; `optimizer` may carry "momentum_form" and "running_variance" beside the common keys."""
        require_ops(self.cell, graph, OPS)
        self.network = Network(graph, weights, optimizer, watching=self.mode == "gate")

    def feed(self, index, inputs, targets):
        """Keep batch `index`; the network takes it in float64, and classes as they are."""
        self.batches[index] = (numpy.asarray(inputs), numpy.asarray(targets))

    def step(self, index):
        """Train, or in mode `infer` evaluate, on batch `index`."""
        inputs, targets = self.batches[index]
        if self.mode == "infer":
            self.last_loss = self.network.forward(inputs, targets, training=False)
        else:
            self.last_loss, self.last_gradients = self.network.train(inputs, targets)

    def synchronize(self):
        """Nothing to wait for: NumPy returns when it is done."""

    def loss(self):
        """Return the mean loss of the last step, before its update."""
        return self.last_loss

    def logits(self):
        """Return the logits of the last step, (batch, classes) or (batch, positions, classes)."""
        return self.network.logits

    def values(self, index):
        """Return {op: float64 array} of a forward pass in training mode on batch `index`, the loss left out."""
        self.network.forward(*self.batches[index], training=True)
        kept = dict(self.network.values)
        for name in (self.network.graph["input"]["value"], self.network.graph["loss"]):
            del kept[name]
        return kept

    def parameters(self):
        """Return {name: float64 array}, copied."""
        return {name: values.copy() for name, values in self.network.parameters.items()}

    def buffers(self):
        """Return {name: float64 array}, copied."""
        return {name: values.copy() for name, values in self.network.buffers.items()}

    def gradients(self):
        """Return {name: float64 array}: the last training step's gradients, without weight decay."""
        return self.last_gradients

    def set_learning_rate(self, value):
        """Use this learning rate from the next step on."""
        self.network.optimizer.learning_rate = value

    def evaluate(self, inputs, targets):
        """Return (loss, logits) in evaluation mode."""
        return self.network.forward(inputs, targets, training=False), self.network.logits

    def close(self):
        """Nothing is held."""
