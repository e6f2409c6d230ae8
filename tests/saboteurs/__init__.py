"""Adapters that do what a broken framework, machine or user can do to a worker. Real adapters in a real worker process.

One module a misdeed. They inherit from `Honest`, which trains nothing but behaves: its loss falls with every step.
"""

import sys
import time

import numpy


class Honest:
    """An adapter whose step takes `step_seconds` and whose loss falls from 2.3."""

    step_seconds = 0.0005

    def __init__(self, cell, rank=0, ranks=1):
        self.cell = cell
        self.steps = 0

    def versions(self):
        """Return a version, as every adapter does."""
        return {"saboteur": "1.0"}

    def knobs(self):
        """Return the threads asked for."""
        return {"threads": self.cell["threads"]}

    def build(self, graph, weights, optimizer):
        """Keep the weights."""
        self.weights = weights

    def feed(self, index, inputs, targets):
        """Check that the batch is what adapters are promised."""
        assert inputs.dtype == numpy.float32 and targets.dtype == numpy.int64 and inputs.flags.c_contiguous

    def step(self, index):
        """Spend the time of a step."""
        end = time.perf_counter() + self.step_seconds
        while time.perf_counter() < end:
            pass
        self.steps += 1

    def synchronize(self):
        """Return: a step is done when it returns."""

    def loss(self):
        """Return a loss that falls."""
        return 2.3 / (1 + self.steps)

    def close(self):
        """Have nothing to close."""


def channel():
    """Return the descriptor of the worker's data channel, which a saboteur may write into."""
    return int(sys.argv[sys.argv.index("--channel") + 1])
