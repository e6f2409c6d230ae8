"""How a cell ended: one status and a reason that a person can act on."""

import math
import re

DIVERGED = 10.0  # times the loss at the first step
MOST_OVERLAP = 10.0  # a step in a block may hide its wait for the device, but not nine tenths of the fastest step
OUT_OF_MEMORY = re.compile(
    r"bad_alloc|MemoryError|out of memory|OutOfMemory|Cannot allocate memory|can't allocate memory", re.IGNORECASE
)
PHASES = {
    "import": "the import of the framework",
    "build": "the build of the network",
    "feed and first step": "feeding or the first step",
    "warm_up": "the warm-up",
    "steps": "the timed steps",
    "blocks": "the block pass",
    "end": "its end",
}


def conclude(conversation, ending, request, oom_kills):
    """Return (status, reason) of a worker that was started. reason is None for ok.

    oom_kills   how many processes of this control group the kernel killed for memory meanwhile; None: not known
    """
    messages = conversation.messages
    if conversation.refusal:
        return "failed", conversation.refusal
    if ending.unkillable:
        return "timeout", "the worker cannot be killed: it hangs in the kernel during {}".format(words(ending))
    if ending.timed_out:
        return "timeout", "not done within {:g} s: stopped during {}{}".format(
            request.protocol["deadline_seconds"],
            words(ending),
            " (it ignored SIGTERM and was killed)" if ending.signal == "SIGKILL" else "",
        )
    if "failure" in messages:
        return messages["failure"]["status"], messages["failure"]["reason"]
    if "result" in messages:
        return of_result(messages, request)
    return without_result(conversation, ending, request, oom_kills)


def words(ending):
    """Return what the worker was doing, as words of a sentence."""
    return PHASES.get(ending.phase, ending.phase)


def without_result(conversation, ending, request, oom_kills):
    """Return (status, reason) of a worker that ended by itself and said neither result nor failure."""
    if ending.signal == "SIGKILL" and oom_kills:
        return "out_of_memory", "the kernel killed the worker for memory during {}".format(words(ending))
    if OUT_OF_MEMORY.search(ending.tail) and (ending.signal or ending.exit_code):
        limit = request.memory_limit_bytes
        return "out_of_memory", "memory ran out during {} ({}{})".format(
            words(ending), how(ending), ", limit {} bytes".format(limit) if limit else ""
        )
    truncated = conversation.truncated()
    said = "" if truncated is None else "; its last message is cut off: {}".format(truncated)
    if ending.signal:
        hint = ""
        if ending.signal == "SIGKILL":
            hint = ", sent by neither the runner nor this control group's memory limit"
        return "crashed", "the worker was ended by {} during {}{}{}".format(ending.signal, words(ending), hint, said)
    if ending.exit_code == 0 and truncated is not None:
        return "failed", "the worker ended in the middle of a message during {}: {}".format(words(ending), truncated)
    if ending.exit_code == 0:
        return (
            "crashed",
            "the worker ended with exit status 0 during {} without a result: something in it called exit".format(
                words(ending)
            ),
        )
    return "crashed", "the worker ended with exit status {} during {} without a result{}".format(
        ending.exit_code, words(ending), said
    )


def how(ending):
    """Return how the process ended, in words."""
    return "ended by {}".format(ending.signal) if ending.signal else "exit status {}".format(ending.exit_code)


def of_result(messages, request):
    """Return (status, reason) of a worker that sent a result: ok, failed if it cannot be true, diverged."""
    if request.task != "measure":
        return "ok", None
    problem = contradiction(messages)
    if problem:
        return "failed", "the worker's result cannot be true: {}".format(problem)
    return of_losses(messages["result"]["losses"])


def contradiction(messages):
    """Return what cannot be true in a measured result, or None."""
    result = messages["result"]
    needed = ("timer", "step_ns", "warmup_steps", "block_ns", "losses", "startup_seconds", "cpu")
    missing = [name for name in needed if result.get(name) is None]
    if missing:
        return "it lacks {}".format(", ".join(missing))
    if "built" not in messages or "stop" not in messages:
        return "it came without {}".format("`built`" if "built" not in messages else "`stop`")
    steps, warm = result["step_ns"], result["warmup_steps"]
    if len(steps) <= warm:
        return "{} steps, {} of them warm-up: no step is left to use".format(len(steps), warm)
    if not result["losses"] or not result["block_ns"]:
        return "it has no losses or no blocks"
    wall = messages["stop"]["monotonic_ns"] - messages["start"]["monotonic_ns"]
    if sum(steps[warm:]) > wall:
        return "its timed steps take {} ns in all, between start and stop are {} ns".format(sum(steps[warm:]), wall)
    count, nanoseconds = (sum(column) for column in zip(*result["block_ns"], strict=True))
    if nanoseconds * MOST_OVERLAP < min(steps[warm:]) * count:
        problem = "a step of its blocks takes {:.3g} ns, its fastest single step {} ns"
        return problem.format(nanoseconds / count, min(steps[warm:]))
    return None


def of_losses(losses):
    """Return (diverged, reason) for a loss that is no number or has grown tenfold, else (ok, None)."""
    first_step, first = losses[0]
    for step, value in losses:
        number = float(value)
        if not math.isfinite(number):
            return "diverged", "the loss is {} at step {} (first loss {})".format(value, step, first)
        if number > DIVERGED * float(first):
            return "diverged", "the loss is {:.6g} at step {}, more than {:g} times the {:.6g} of step {}".format(
                number, step, DIVERGED, float(first), first_step
            )
    return "ok", None
