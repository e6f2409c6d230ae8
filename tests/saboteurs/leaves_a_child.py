"""Leaves a process behind that has left its group and session."""

import os
import time

from saboteurs import Honest


class Adapter(Honest):
    """Starts a daemon."""

    def close(self):
        """Fork twice; the grandchild sleeps in a session of its own."""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(3600)
            os._exit(0)
        time.sleep(0.2)
