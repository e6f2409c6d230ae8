"""Prints a reason and ends the process with exit status 1."""

import os

from saboteurs import Honest


class Adapter(Honest):
    """Leaves with a message on its standard output."""

    def step(self, index):
        """Print and leave."""
        os.write(1, b"fatal: license server not found\n")
        os._exit(1)
