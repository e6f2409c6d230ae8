"""Aborts, as a failed assertion in C++ does."""

import os

from saboteurs import Honest


class Adapter(Honest):
    """Aborts during the build."""

    def build(self, graph, weights, optimizer):
        """Abort."""
        os.abort()
