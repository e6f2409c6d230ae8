"""Is ended by a SIGKILL from outside, as by an administrator."""

import os
import signal

from saboteurs import Honest


class Adapter(Honest):
    """Dies in a step."""

    def step(self, index):
        """Die."""
        os.kill(os.getpid(), signal.SIGKILL)
