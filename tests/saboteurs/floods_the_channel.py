"""Writes without end and without a line break into the data channel."""

import os

from saboteurs import Honest, channel


class Adapter(Honest):
    """Fills the channel."""

    def step(self, index):
        """Write."""
        while True:
            os.write(channel(), b"z" * 65536)
