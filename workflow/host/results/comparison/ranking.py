"""From the pairs of a family to an order with ties: Holm's correction, speed classes, letters, tied ranks.

Sources: Holm 1979, "A simple sequentially rejective multiple test procedure"; Piepho 2004, "An algorithm for a
letter-based representation of all-pairwise comparisons" (what letters mean).
"""

import string

import numpy as np
from scipy import stats


def holm(p):
    """Return Holm's adjusted p-values along the last axis: reject those that are at most alpha.

    The smallest p is multiplied by the number of tests m, the next by m - 1, ...; an adjusted value is never below the
    one before it, nor above 1. The chance of any false rejection is at most alpha, whatever the tests' dependence.
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p, -1, kind="stable")
    factors = np.arange(p.shape[-1], 0, -1)
    raised = np.minimum(1.0, np.maximum.accumulate(np.take_along_axis(p, order, -1) * factors, -1))
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, raised, -1)
    return adjusted


def speed_classes(estimates, slower):
    """Return the class of each entry, from 1: its leader and all that are not declared slower than the leader.

    estimates  step times; slower[i][j] is True where entry i was declared slower than entry j

    The fastest leads class 1. The first entry that was declared slower than a leader leads the next class; each entry
    joins the first class that takes it.
    """
    order = sorted(range(len(estimates)), key=lambda entry: (estimates[entry], entry))
    classes = [0] * len(estimates)
    number = 0
    while order:
        number += 1
        leader = order[0]
        for entry in order:
            if not slower[entry][leader]:
                classes[entry] = number
        order = [entry for entry in order if not classes[entry]]
    return classes


def letters(estimates, different):
    """Return the letters of each entry: two entries share a letter exactly where they were not declared different.

    estimates  step times: letters are given from the fastest on
    different  symmetric: different[i][j] is True where i was declared faster or slower than j
    """
    order = sorted(range(len(estimates)), key=lambda entry: (estimates[entry], entry))
    alike = {i: {j for j in order if j != i and not different[i][j]} for i in order}
    groups = sorted(sorted(map(order.index, group)) for group in largest_groups(alike, set(), set(order), set()))
    names = dict.fromkeys(order, "")
    for group, letter in zip(groups, letter_names(), strict=False):
        for place in group:
            names[order[place]] += letter
    return [names[entry] for entry in range(len(estimates))]


def largest_groups(alike, group, candidates, done):
    """Return every largest set of entries that are all alike (Bron and Kerbosch 1973, without pivot: few entries).

    alike {entry: entries that it is alike}; group is in the set, candidates may join it, done were tried before
    """
    if not candidates and not done:
        return [group]
    found = []
    for entry in sorted(candidates):
        found += largest_groups(alike, group | {entry}, candidates & alike[entry], done & alike[entry])
        candidates, done = candidates - {entry}, done | {entry}
    return found


def letter_names():
    """Yield a, b, ..., z, a1, b1, ..."""
    number = 0
    while True:
        for letter in string.ascii_lowercase:
            yield letter + (str(number) if number else "")
        number += 1


def tied_ranks(classes):
    """Return the rank of each entry; those of one class share the average of their ranks: 1.5, 1.5, 3."""
    return [float(rank) for rank in stats.rankdata(classes)] if len(classes) else []
