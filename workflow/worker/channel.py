"""The data channel: one JSON object a line, on a descriptor of its own, and the clocks of the worker."""

import json
import math
import os
import sys
import time


def perf_counter_ns():
    """Return the performance counter in whole ns, on Python 3.6 too (there from a float: resolution about 0.1 us)."""
    return int(time.perf_counter() * 1e9)


def monotonic_ns():
    """Return the machine's monotonic clock in ns: on Linux the runner reads the same one."""
    return int(time.monotonic() * 1e9)


# Python 3.7 and newer count whole ns; the functions above stand in on 3.6
perf_counter_ns = getattr(time, "perf_counter_ns", perf_counter_ns)
monotonic_ns = getattr(time, "monotonic_ns", monotonic_ns)


def number(value):
    """Return a float as JSON can hold it: a non-finite one as "nan", "inf" or "-inf"."""
    value = float(value)
    return value if math.isfinite(value) else str(value)


class Channel:
    """Sends messages to the runner. `phase` says what the worker is doing, for the reason of a failure."""

    def __init__(self, descriptor):
        os.set_inheritable(descriptor, False)  # processes that the framework starts must not keep it open
        self.descriptor = descriptor
        self.phase = "start"

    def send(self, message, **content):
        """Write one message as one line; blocks until the runner has taken it. Raises OSError if the runner is gone."""
        line = json.dumps(dict(content, message=message), allow_nan=False, sort_keys=True) + "\n"
        data = line.encode("utf-8")
        while data:
            data = data[os.write(self.descriptor, data) :]

    @staticmethod
    def flush_output():
        """Write out what the framework printed and Python still holds; a closed or broken stream loses it."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                continue
