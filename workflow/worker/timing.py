"""The timing passes: single steps with a synchronisation each, and blocks of steps with one."""

import math
import time

from worker.channel import perf_counter_ns

FEWEST_STEPS = 20  # a cell with fewer used steps is flagged few_steps
PATIENCE = 4  # a slow cell may take this many times max_seconds to reach FEWEST_STEPS
WARM_UP_SHARE = 0.3  # of max_seconds; a warm-up that is longer is flagged warmup_not_reached
OVERHEAD_READS = 100000  # back-to-back readings of the clock
SYNCHRONIZATIONS = 1000  # of an idle engine, at most
SYNCHRONIZATION_SECONDS = 0.2  # and for at most this long, once there are ten
BLOCK_TRIES = 4


class Steps:
    """Runs an adapter's steps over its distinct batches, in turn, and keeps every single step's time in ns."""

    def __init__(self, adapter, batches):
        self.adapter = adapter
        self.batches = batches
        self.step_ns = []
        self.next_batch = 0

    def run_one(self):
        """Run one step to its end, all parameters updated; keep and return its time in ns."""
        batch = self.next_batch
        start = perf_counter_ns()
        self.adapter.step(batch)
        self.adapter.synchronize()
        elapsed = perf_counter_ns() - start
        self.step_ns.append(elapsed)
        self.next_batch = (batch + 1) % self.batches
        return elapsed

    def warm_up(self, protocol):
        """Run the warm-up: `warmup_steps` after the first, `warmup_seconds` where the protocol has them.

        returns  flags: warmup_not_reached if the longest permitted warm-up ended it
        """
        start = perf_counter_ns()
        wanted_ns = protocol.get("warmup_seconds", 0.0) * 1e9
        longest_ns = WARM_UP_SHARE * protocol["max_seconds"] * 1e9
        done = 0
        while done < protocol["warmup_steps"] or perf_counter_ns() - start < wanted_ns:
            if done >= 1 and perf_counter_ns() - start > max(longest_ns, wanted_ns):
                return ["warmup_not_reached"]
            self.run_one()
            done += 1
        return []

    def timed_pass(self, protocol):
        """Run steps until min_steps and min_seconds are reached, or max_steps, or max_seconds; return flags.

        A slow cell goes on beyond max_seconds until it has FEWEST_STEPS, but not beyond PATIENCE times max_seconds.
        """
        done, used_ns = 0, 0
        min_steps, min_ns = protocol["min_steps"], protocol["min_seconds"] * 1e9
        max_steps, max_ns = protocol["max_steps"], protocol["max_seconds"] * 1e9
        while not (
            (done >= min_steps and used_ns >= min_ns)
            or done >= max_steps
            or (used_ns >= max_ns and (done >= min(FEWEST_STEPS, min_steps) or used_ns >= PATIENCE * max_ns))
        ):
            used_ns += self.run_one()
            done += 1
        return ["few_steps"] if done < FEWEST_STEPS else []

    def block_pass(self, protocol):
        """Run blocks of steps with one synchronisation each, until one has block_steps and block_seconds.

        returns  [[steps, ns], ...]: every block that was run; all have block_steps at least
        """
        recent = sorted(self.step_ns[-protocol["min_steps"] :])
        step_ns = max(1, recent[len(recent) // 2])
        wanted_ns = protocol["block_seconds"] * 1e9
        blocks = []
        for _ in range(BLOCK_TRIES):
            count = max(protocol["block_steps"], int(math.ceil(1.05 * wanted_ns / step_ns)))
            blocks.append([count, self.run_block(count)])
            if blocks[-1][1] >= wanted_ns:
                break
            step_ns = max(1, blocks[-1][1] // count)  # steps overlap within a block: faster than single ones
        return blocks

    def run_block(self, count):
        """Return the ns that `count` steps take with one synchronisation, at their end."""
        adapter, batches, batch = self.adapter, self.batches, self.next_batch
        start = perf_counter_ns()
        for _ in range(count):
            adapter.step(batch)
            batch = (batch + 1) % batches
        adapter.synchronize()
        elapsed = perf_counter_ns() - start
        self.next_batch = batch
        return elapsed


def overheads(adapter):
    """Return what measuring itself costs: the clock, one reading of it, one synchronisation of an idle engine; ns."""
    reads = [perf_counter_ns() for _ in range(OVERHEAD_READS)]
    gaps = sorted(later - earlier for earlier, later in zip(reads, reads[1:]))
    waits = []
    begin = perf_counter_ns()
    while len(waits) < SYNCHRONIZATIONS:
        start = perf_counter_ns()
        adapter.synchronize()
        end = perf_counter_ns()
        waits.append(end - start)
        if len(waits) >= 10 and end - begin > SYNCHRONIZATION_SECONDS * 1e9:
            break
    waits.sort()
    return {
        "clock": "perf_counter_ns" if hasattr(time, "perf_counter_ns") else "perf_counter",
        "resolution_ns": max(1, int(round(time.get_clock_info("perf_counter").resolution * 1e9))),
        "overhead_ns": gaps[len(gaps) // 2],
        "sync_overhead_ns": waits[len(waits) // 2],
    }
