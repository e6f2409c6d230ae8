"""Calls sys.exit() in a step, as some command-line code inside frameworks does."""

import sys

from saboteurs import Honest


class Adapter(Honest):
    """Exits the polite way."""

    def step(self, index):
        """Exit."""
        sys.exit("usage: framework [options]")
