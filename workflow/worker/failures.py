"""What an exception in the worker means: unsupported, out of memory, or failed."""

import re
import traceback

from worker.frameworks import Unsupported

# Words in which frameworks and allocators report that memory ran out; matched against type and text of the exception.
OUT_OF_MEMORY = re.compile(
    r"MemoryError|bad_alloc|out of memory|OutOfMemory|not enough memory|cannot allocate memory|can't allocate memory"
    r"|RESOURCE_EXHAUSTED|ResourceExhausted|CUDA_ERROR_OUT_OF_MEMORY|MemoryAllocation",
    re.IGNORECASE,
)
LONGEST = 4000  # characters of an exception that are kept
PHASES = {
    "import": "the import of the framework",
    "weights": "the drawing of the weights",
    "build": "the build of the network",
    "feed": "the feeding of the batches",
    "warm_up": "the warm-up",
    "steps": "the timed steps",
    "blocks": "the block pass",
}


def describe(error, phase):
    """Return the content of a `failure` message: status, reason, exception (its traceback's end) and phase."""
    text = "{}: {}".format(type(error).__name__, error)[:LONGEST]
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))[-LONGEST:]
    if isinstance(error, Unsupported):
        status, reason = "unsupported", str(error)
    elif isinstance(error, MemoryError) or OUT_OF_MEMORY.search(text):
        status, reason = "out_of_memory", "memory ran out during {}: {}".format(phase_words(phase), text)
    else:
        status, reason = "failed", "during {}: {}".format(phase_words(phase), text)
    return {"status": status, "reason": reason, "exception": trace, "phase": phase}


def phase_words(phase):
    """Return a phase as words of a sentence: `first_step` is `the first step`."""
    return PHASES.get(phase, "the " + phase.replace("_", " "))
