"""Leaves a process behind that has left its group and session and cleared its environment."""

import os
import time

from saboteurs import Honest


class Adapter(Honest):
    """Starts a daemon that inherits nothing."""

    def close(self):
        """Fork twice; the grandchild becomes another program with an empty environment."""
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execve("/bin/sleep", ["sleep", "3600"], {})
            os._exit(0)
        time.sleep(0.2)
