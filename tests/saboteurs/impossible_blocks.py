"""Computes in its single steps and in nothing else: a block of steps takes no time."""

from saboteurs import Honest
from worker import timing


class Adapter(Honest):
    """Knows when a block is measured."""

    def build(self, graph, weights, optimizer):
        """Turn the steps into nothing once the block pass begins."""
        honest = timing.Steps.block_pass

        def block_pass(steps, *arguments):
            self.step_seconds = 0.0
            return honest(steps, *arguments)

        timing.Steps.block_pass = block_pass
