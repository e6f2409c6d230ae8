"""Ends in the middle of a message, with exit status 0."""

import os

from saboteurs import Honest, channel


class Adapter(Honest):
    """Says half a word."""

    def step(self, index):
        """Write half a result and leave."""
        os.write(channel(), b'{"message": "result", "step_ns": [1, 2')
        os._exit(0)
