"""Watch a worker until it has ended. The runner sleeps in `select` until something happens.

What happens: a message, output, the end of the worker, a deadline, the end of a parent.
"""

import contextlib
import os
import selectors
import signal
import time
from dataclasses import dataclass

from host.runner import hunt

TAIL_BYTES = 8192
LOG_BYTES = 1 << 20  # of the worker's output go to the log; then only the tail is kept
PIECE = 1 << 16
DRAIN_BYTES = 4 << 20  # that are still read from the output once the worker has ended
LOOK_SECONDS = 0.5  # between two looks at processes that have no descriptor
UNKILLABLE_SECONDS = 30.0


@dataclass
class Ending:
    """How the worker ended. exit_code and signal are None where they do not apply."""

    exit_code: int | None = None
    signal: str | None = None
    timed_out: bool = False
    stopped: bool = False  # by the runner
    hung_after_result: bool = False
    unkillable: bool = False
    seconds: float = 0.0
    phase: str = "import"
    tail: str = ""


class Output:
    """Keeps the tail of the worker's output, and its beginning in a log."""

    def __init__(self, log=None):
        self.log = log
        self.tail = b""
        self.total = 0

    def take(self, data):
        """Take a piece of output."""
        if self.log is not None and self.total < LOG_BYTES:
            self.log.write(data[: LOG_BYTES - self.total])
            if self.total + len(data) >= LOG_BYTES:
                self.log.write("\n... the rest of the output is not kept\n".encode())
            self.log.flush()
        self.total += len(data)
        self.tail = (self.tail + data)[-TAIL_BYTES:]


class Watch:
    """One worker under watch."""

    def __init__(self, worker, conversation, output, parents, deadline_seconds, grace_seconds):
        self.worker, self.conversation, self.output, self.parents = worker, conversation, output, parents
        self.grace_seconds = grace_seconds
        self.deadline = worker.start_ns / 1e9 + deadline_seconds
        self.finish_by = self.kill_at = self.give_up_at = float("inf")
        self.ending = Ending()
        self.selector = selectors.DefaultSelector()
        self.look = parents.must_look
        self.pidfd = None
        with contextlib.suppress(AttributeError, OSError):
            self.pidfd = os.pidfd_open(worker.process.pid)
            self.selector.register(self.pidfd, selectors.EVENT_READ, self.nothing)
        self.look = self.look or self.pidfd is None
        self.selector.register(worker.channel, selectors.EVENT_READ, self.read_channel)
        self.selector.register(worker.output, selectors.EVENT_READ, self.read_output)
        for descriptor in parents.descriptors:
            self.selector.register(descriptor, selectors.EVENT_READ, self.nothing)

    def run(self):
        """Return the Ending; raise Interrupted if a parent has ended (the worker then still runs)."""
        try:
            while not self.has_ended():
                moments = (self.deadline, self.finish_by, self.kill_at, self.give_up_at)
                wait = max(0.0, min(moments) - time.monotonic())
                for key, _ in self.selector.select(min(wait, LOOK_SECONDS) if self.look else min(wait, 3600.0)):
                    key.data()
                self.parents.check()
                self.decide(time.monotonic())
                if self.ending.unkillable:
                    return self.ending
            self.drain()
            return self.conclude()
        finally:
            self.selector.close()
            if self.pidfd is not None:
                os.close(self.pidfd)

    def nothing(self):
        """Stand for an event that the loop itself looks at."""

    def has_ended(self):
        """Return whether the worker has ended, without collecting it: its id stays its own until its group is dead."""
        options = os.WEXITED | os.WNOWAIT | os.WNOHANG
        return os.waitid(os.P_PID, self.worker.process.pid, options) is not None

    def decide(self, now):
        """Stop a worker that is refused, late, or does not end after its last message; kill one that does not stop."""
        if now >= self.kill_at:
            hunt.send(os.killpg, self.worker.group, signal.SIGKILL)
            self.kill_at, self.give_up_at = float("inf"), now + UNKILLABLE_SECONDS
        if now >= self.give_up_at:
            self.ending.unkillable = True
        if self.ending.stopped:
            return
        if self.conversation.finished and self.finish_by == float("inf"):
            self.finish_by = now + self.grace_seconds
        if self.conversation.refusal:
            self.stop(now)
        elif now >= self.finish_by:
            self.ending.hung_after_result = True
            self.stop(now)
        elif now >= self.deadline and not self.conversation.finished:
            self.ending.timed_out = True
            self.stop(now)

    def stop(self, now):
        """Ask the worker's group to end; it is killed after the grace time."""
        self.ending.stopped = True
        self.deadline = self.finish_by = float("inf")
        self.ending.phase = self.conversation.phase
        hunt.send(os.killpg, self.worker.group, signal.SIGTERM)
        hunt.send(os.killpg, self.worker.group, signal.SIGCONT)  # a stopped process hears no SIGTERM
        self.kill_at = now + self.grace_seconds

    def read_channel(self):
        """Read one piece from the channel; forget the channel at its end."""
        self.read(self.worker.channel, self.conversation.receive)

    def read_output(self):
        """Read one piece of output; forget it at its end."""
        self.read(self.worker.output, self.output.take)

    def read(self, descriptor, take):
        """Hand one piece of a descriptor on; return its length, None if there is nothing now."""
        try:
            data = os.read(descriptor, PIECE)
        except BlockingIOError:
            return None
        if not data:
            with contextlib.suppress(KeyError):
                self.selector.unregister(descriptor)
            return None
        take(data)
        return len(data)

    def drain(self):
        """Read what the ended worker left in the pipes; a child that goes on printing is not waited for."""
        while self.read(self.worker.channel, self.conversation.receive):
            pass
        left = DRAIN_BYTES
        while left > 0 and (length := self.read(self.worker.output, self.output.take)):
            left -= length

    def conclude(self):
        """Collect the worker after killing what is left of its group; return the Ending."""
        hunt.send(os.killpg, self.worker.group, signal.SIGKILL)
        code = self.worker.process.wait()
        ending = self.ending
        if code < 0:
            ending.signal = signal_name(-code)
        else:
            ending.exit_code = code
        if not ending.stopped:
            ending.phase = self.conversation.phase
        ending.seconds = time.monotonic() - self.worker.start_ns / 1e9
        ending.tail = self.output.tail.decode("utf-8", errors="replace")
        return ending


def signal_name(number):
    """Return SIGSEGV for 11, `signal 64` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal {}".format(number)
