"""Sends the number NaN, which JSON has not."""

import os

from saboteurs import Honest, channel


class Adapter(Honest):
    """Sends a message of its own."""

    def step(self, index):
        """Send it."""
        os.write(channel(), b'{"message": "first_step", "ns": NaN}\n')
