"""Sends its result and then crashes while Python shuts down, as some CUDA libraries do."""

import atexit
import os

from saboteurs import Honest


class Adapter(Honest):
    """Leaves a mess."""

    def close(self):
        """Arrange for the crash."""
        atexit.register(os.abort)
