"""Allocates until memory runs out."""

import numpy

from saboteurs import Honest


class Adapter(Honest):
    """Is greedy."""

    def step(self, index):
        """Take 256 MiB more."""
        self.held = getattr(self, "held", []) + [numpy.ones(1 << 25)]
