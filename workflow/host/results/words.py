"""The words for how a cell ended: one sentence of what it means and one of what to do, for every status."""

MISSING = "missing"  # the study asks for it, no record is there
DAMAGED = "damaged"  # a record is there that cannot be read or does not fit the schema
INCOMPLETE = "incomplete"  # of a cell: some repeats ended ok, some did not
EQUIVALENT, NOT_EQUIVALENT, UNVERIFIED = "equivalent", "not equivalent", "unverified"

ADVICE = {
    "unsupported": "Read the reason: the framework cannot run this cell, or its environment could not be built.",
    "out_of_memory": "Take a smaller batch or a machine with more memory.",
    "timeout": "Raise deadline_seconds in the study's protocol, or look in the record for what the worker waited for.",
    "diverged": "Lower the learning rate; if other frameworks train with it, look at the gate's result first.",
    "crashed": "Look at the end of the output in the record (status_detail), then set it aside and run again.",
    "failed": "Look at the exception and the end of the output in the record, then set the record aside and run again.",
    "cancelled": "Somebody ended the run: set the record aside and run again.",
    "node_failure": "The machine or the job system ended the run: set the record aside and run again.",
    "wrong_hardware": "Run it on the machine that the cell names, or correct its entry in the hardware catalogue.",
    MISSING: "Run the study again: only what is missing is run.",
    DAMAGED: "Set the file aside and run again; report it, because the workflow itself writes records in one piece.",
}

FLAGS = {
    "few_steps": "fewer than 20 steps after warm-up",
    "no_steady_state": "step times never settle: the number is the median from the protocol's warm-up on",
    "warmup_undetermined": "noise between steps could hide a warm-up of more than 2 %",
    "not_resolvable": "a step is too short for this clock or synchronisation: only the block pass counts",
    "threads_exceeded": "more cores were busy than the cell grants",
    "preempted": "more than 100 involuntary context switches a second and thread: something else, or the framework's own "
    "threads, competed for its cores",
    "warmup_inconsistent": "repeats differ in how they warm up",
    "warmup_not_reached": "the warm-up took more than its share of the time: the number may hold some of it",
    "sampler_shares_cores": "no core was left for the sampler: it ran on the worker's",
    "children_left_behind": "the worker left processes behind, which were ended",
    "hung_after_result": "the worker gave its result and then did not end: it was stopped",
    "ended_badly_after_result": "the worker gave its result and then did not end well",
    "stale": "measured with other sources than the present ones",
    "wide_spread": "repeats differ by more than 3 % (deviation of the logarithm): no claim of 2 % can be made",
    "versions_differ": "repeats ran with different versions",
}


def advice(status):
    """Return what to do about a status; for one that this version does not know, where to look."""
    return ADVICE.get(status, "Look at the reason in the record.")


def readable(status):
    """Return the status as words for a reader: `out of memory`."""
    return status.replace("_", " ")


def listed(texts):
    """Return texts as one phrase: `a`, `a and b`, `a, b and c`."""
    texts = list(texts)
    return texts[0] if len(texts) == 1 else ", ".join(texts[:-1]) + " and " + texts[-1] if texts else ""
