"""Hangs and ignores SIGTERM."""

import os
import signal
import time

from saboteurs import Honest


class Adapter(Honest):
    """Waits for ever and cannot be asked to stop."""

    def step(self, index):
        """Wait, deaf."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(2, b"hanging\n")
        while True:
            time.sleep(3600)
