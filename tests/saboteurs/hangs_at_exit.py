"""Sends its result and then never ends: a thread of its own is waiting."""

import threading
import time

from saboteurs import Honest


class Adapter(Honest):
    """Does not go home."""

    def close(self):
        """Start a thread that Python waits for."""
        threading.Thread(target=time.sleep, args=(3600,)).start()
