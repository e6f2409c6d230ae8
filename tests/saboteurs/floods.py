"""Prints 64 MiB in its first step, from C as it were, and then fails."""

import os

from saboteurs import Honest


class Adapter(Honest):
    """Prints and fails."""

    def step(self, index):
        """Print to both streams, then raise."""
        for _ in range(512):
            os.write(1, b"x" * 65535 + b"\n")
            os.write(2, b"y" * 65535 + b"\n")
        os.write(1, b"the last words\n")
        raise RuntimeError("after the flood")
