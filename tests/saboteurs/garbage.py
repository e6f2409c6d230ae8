"""Writes what is not JSON into the data channel."""

import os

from saboteurs import Honest, channel


class Adapter(Honest):
    """Disturbs the channel."""

    def step(self, index):
        """Write a line of log."""
        os.write(channel(), b"WARNING \x00\xff: all is lost\n")
        super().step(index)
