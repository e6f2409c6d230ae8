"""Ends the process in a step with exit status 0, as if all were well."""

import os

from saboteurs import Honest


class Adapter(Honest):
    """Leaves."""

    def step(self, index):
        """Leave without a word."""
        os._exit(0)
