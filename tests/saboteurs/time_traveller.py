"""Patches the clock, so that its steps take longer than there was time."""

from saboteurs import Honest
from worker import timing


class Adapter(Honest):
    """Lies about time."""

    def build(self, graph, weights, optimizer):
        """Put in a clock that runs a thousand times too fast."""
        honest = timing.perf_counter_ns
        timing.perf_counter_ns = lambda: honest() * 1000
