"""Is stopped (SIGSTOP), as by a debugger."""

import os
import signal

from saboteurs import Honest


class Adapter(Honest):
    """Stops in a step."""

    def step(self, index):
        """Stop."""
        os.kill(os.getpid(), signal.SIGSTOP)
