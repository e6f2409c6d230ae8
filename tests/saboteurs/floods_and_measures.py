"""Prints in every step, and measures well."""

import os

from saboteurs import Honest


class Adapter(Honest):
    """Prints much more than a pipe holds."""

    def step(self, index):
        """Print a step."""
        super().step(index)
        os.write(1, b"step\n" * 2000)
