"""Hangs in a step."""

import os
import time

from saboteurs import Honest


class Adapter(Honest):
    """Waits for ever."""

    def step(self, index):
        """Wait."""
        os.write(2, b"hanging\n")
        time.sleep(3600)
