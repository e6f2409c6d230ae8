"""Why a planted fault that no check sees is no hole in the gate: each survivor has its reason here, or the suite fails.

Rarely a reason will do: what has none is a hole. An entry that explains nothing any more fails the suite too.
"""

EXPLAINED = {  # (kind, network, place): why
    ("epsilon is 2e-5", "vectors", "flattened_norm"): (
        "it normalises the network's input, whose variance is 1: 1e-5 more is 5e-6 of the values there, less than "
        "any float32 code is held to; behind a layer, whose weights start small, epsilon is felt"
    ),
}
REFUSED = {}  # (kind, network, place): why it cannot be run at all, by no mistake of the suite's


def key(fault):
    """Return what a fault is found by here: kind, network, place."""
    return fault.kind, fault.network, fault.place


def why(fault):
    """Return why a fault may survive, None if nobody knows."""
    return EXPLAINED.get(key(fault))


def why_refused(fault):
    """Return why a fault may end in a refusal, None if nobody knows."""
    return REFUSED.get(key(fault))


def idle(survivors):
    """Return the entries that no survivor needs."""
    return sorted(set(EXPLAINED) - {key(outcome.fault) for outcome in survivors})
