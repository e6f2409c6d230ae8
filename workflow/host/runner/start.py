"""The processes of one cell: the worker with its two pipes, and the guardian. Linux only: prctl, /proc, sessions."""

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time

from host import catalogue

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
REPORT_SECONDS = 10.0
PRCTL = ctypes.CDLL(None, use_errno=True).prctl  # looked up before any fork: the child must not import


def adopt_orphans():
    """Make this process the new parent of processes that lose theirs below it, so that it can find and end them."""
    PRCTL(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def dies_with_this_process():
    """Return what a child runs before its program starts, so that it is killed when this process ends."""
    parent = os.getpid()

    def before_exec():
        PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died between fork and here
            os._exit(127)

    return before_exec


class Worker:
    """The worker's process in a session of its own, with the reading ends of its channel and of its output."""

    def __init__(self, command, variables, cores, limits):
        """Start it.

        command    its argument vector; the channel's descriptor is appended
        variables  its whole environment
        cores      that it is bound to
        limits     [(resource, bytes), ...]
        """
        bind_life = dies_with_this_process()

        def before_exec():
            bind_life()
            os.sched_setaffinity(0, cores)
            for kind, value in limits:
                resource.setrlimit(kind, (value, value))

        self.channel, channel_end = os.pipe()
        self.output, output_end = os.pipe()
        os.set_inheritable(channel_end, True)
        self.start_ns = time.monotonic_ns()
        try:
            self.process = subprocess.Popen(
                [*command, "--channel", str(channel_end)],
                stdin=subprocess.DEVNULL,
                stdout=output_end,
                stderr=output_end,
                env=variables,
                cwd="/",
                start_new_session=True,
                pass_fds=[channel_end],
                preexec_fn=before_exec,  # safe: this process has one thread
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(channel_end)
            os.close(output_end)
        for descriptor in (self.channel, self.output):
            os.set_blocking(descriptor, False)
        with contextlib.suppress(OSError):  # a larger pipe: a worker that prints much waits less
            fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, 1 << 20)

    @property
    def group(self):
        """Return the worker's process group, which is its process id."""
        return self.process.pid

    def close(self):
        """Close the pipes."""
        os.close(self.channel)
        os.close(self.output)


class Guardian:
    """The child that samples telemetry and outlives the runner to clean up."""

    def __init__(self, lock):
        """Start it; it inherits this process's cores and the descriptor of the machine's lock (None: there is none)."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "host.runner.guardian"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": str(catalogue.WORKFLOW), "PATH": os.environ.get("PATH", "")},
            cwd="/",
            start_new_session=True,
            pass_fds=[] if lock is None else [lock],
        )

    def order(self, **order):
        """Give it one order; return False if it is gone."""
        try:
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return False
        return True

    def report(self):
        """Return (telemetry, None), or (None, the reason that there is none)."""
        import select

        if not self.order(report=True):
            return None, "the sampling process has ended (exit status {})".format(self.process.poll())
        data, end = b"", time.monotonic() + REPORT_SECONDS
        while not data.endswith(b"\n"):
            if not select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))[0]:
                return None, "the sampling process did not answer within {:.0f} s".format(REPORT_SECONDS)
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                return None, "the sampling process ended without an answer"
            data += part
        telemetry = json.loads(data)
        if not telemetry or not telemetry["t_seconds"]:
            return None, "the worker ended before the first sample"
        return telemetry, None

    def close(self):
        """Let it clean up and end; kill it if it does not."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=REPORT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
