"""Reads from address zero."""

import ctypes

from saboteurs import Honest


class Adapter(Honest):
    """Crashes in a step."""

    def step(self, index):
        """Crash."""
        ctypes.string_at(0)
