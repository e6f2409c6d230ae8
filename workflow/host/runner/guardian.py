"""The runner's child: samples the worker's memory and CPU time, and ends the worker when the runner is gone.

It reads orders, one JSON object a line, from its standard input and answers on its standard output. The end of the
input means that the runner has ended, however: then everything of the worker is killed and its scratch folder removed.
It runs in a session of its own and is deaf to SIGTERM, SIGINT and SIGHUP, so that it outlives the runner; it holds the
machine's lock as well, so that nobody measures before the worker is gone.

Orders: {"token": ..., "scratch": folder} before either exists; {"watch": process id, "start_ns": monotonic clock} once
the worker runs; {"report": true} once it has ended.
"""

import json
import os
import select
import shutil
import signal
import sys
import time

from host.runner import hunt

PERIOD_SECONDS = 0.1
CHILDREN_EVERY = 10  # samples between two looks for new children: looking through all processes is not free
MOST_SAMPLES = 6000  # then every second one is dropped and the period doubled


class Sampler:
    """Samples a process and its children: resident bytes and CPU seconds, over seconds since its start."""

    def __init__(self, process_id, start_ns):
        import psutil  # here: the guardian is on guard before this is imported

        self.errors = (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess)
        self.start_ns = start_ns
        self.period_seconds = PERIOD_SECONDS
        self.t_seconds, self.rss_bytes, self.cpu_seconds = [], [], []
        self.children = []
        self.looked = 0
        self.running = True
        try:
            self.root = psutil.Process(process_id)
        except self.errors:
            self.running = False

    def sample(self):
        """Take one sample; its time is the middle of the reading. Stops for good when the worker has ended."""
        before = time.monotonic_ns()
        try:
            if self.looked % CHILDREN_EVERY == 0:
                self.children = self.root.children(recursive=True)
            self.looked += 1
            with self.root.oneshot():
                rss, cpu = self.root.memory_info().rss, sum(self.root.cpu_times()[:4])  # children it waited for too
        except self.errors:
            self.running = False
            return
        for child in self.children:
            try:
                rss, cpu = rss + child.memory_info().rss, cpu + sum(child.cpu_times()[:2])
            except self.errors:
                continue
        middle = (before + time.monotonic_ns()) // 2
        self.t_seconds.append(round((middle - self.start_ns) / 1e9, 4))
        self.rss_bytes.append(rss)
        self.cpu_seconds.append(round(cpu, 4))
        if len(self.t_seconds) > MOST_SAMPLES:
            self.thin_out()

    def thin_out(self):
        """Drop every second sample and take them half as often from now on."""
        for column in (self.t_seconds, self.rss_bytes, self.cpu_seconds):
            del column[1::2]
        self.period_seconds *= 2

    def report(self):
        """Return the samples as a record's telemetry, without the window."""
        names = ("period_seconds", "t_seconds", "rss_bytes", "cpu_seconds")
        return {name: getattr(self, name) for name in names}


def main():
    """Follow orders until the input ends; then clean up after the runner."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    guarded, busy = {"watch": None}, []
    for order in orders(busy):
        guarded.update(order)
        if "watch" in order:
            busy.append(Sampler(order["watch"], order["start_ns"]))
        elif "report" in order:
            answer = busy.pop().report() if busy else None
            guarded["watch"] = None  # the worker has been collected: its id may soon be another's
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()
    if "token" in guarded:
        hunt.end_all(guarded["token"], guarded["watch"])
        shutil.rmtree(guarded["scratch"], ignore_errors=True)
    return 0


def orders(busy):
    """Yield the orders from standard input as they come, sampling in between; ends with the input.

    busy  list that holds the Sampler to keep going, or nothing
    """
    held = b""
    due = time.monotonic()
    while True:
        sampling = bool(busy) and busy[0].running
        wait = max(0.0, due - time.monotonic()) if sampling else None
        if select.select([0], [], [], wait)[0]:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, held = (held + data).split(b"\n")
            yield from (json.loads(line) for line in lines if line)
            due = time.monotonic()
        elif sampling:
            busy[0].sample()
            due = max(due + busy[0].period_seconds, time.monotonic())


if __name__ == "__main__":
    sys.exit(main())
