"""Adapters without a fault, from many starts, as they are and with noise: the table says how near they come."""

from collections import defaultdict

from faults import kinds, networks, suite
from faults.plan import Planned
from faults.run import CHECKS
from host.gate import bundle

APART = 1000  # between the seeds at which two searches for a fit start begin: more than a search looks at


def survey(pythons, folder, names, count, cache=networks.CACHE, first=0):
    """Return [(seed, Outcome)] of every framework and network from `count` starts, the `first` ones left out.

    From each start it runs as it is, and with one unit in the last place of noise.
    """
    found = []
    for number in range(first, first + count):
        seed = bundle.SETTINGS["seed"] + APART * number
        for framework, python in pythons.items():
            made = {network: networks.bundled(network, framework, cache, seed) for network in names}
            faults = [Planned(suite.HONEST, "", network, kinds.NOWHERE) for network in names]
            faults += [Planned(suite.NOISE, "", network, str(seed)) for network in names]
            place = folder / "{}-{}".format(framework, seed)
            found += [(seed, outcome) for outcome in suite.outcomes(framework, python, faults, made, place)]
    return found


def rows(found):
    """Return a table's rows as texts: a framework and network, runs, refused, worst error / tolerance per check."""
    checks = [check for check in CHECKS if any(check in outcome.excess for _, outcome in found)]
    grouped = defaultdict(list)
    for seed, outcome in found:
        grouped[outcome.framework, outcome.fault.network].append((seed, outcome))
    made = [["framework", "network", "runs", "refused", *checks]]
    for (framework, network), members in sorted(grouped.items()):
        refused = sum(bool(outcome.caught_by) for _, outcome in members)
        worst = [
            max((each.excess[check] for _, each in members if check in each.excess), default=None) for check in checks
        ]
        cells = ["" if value is None else "{:.2f}".format(value) for value in worst]
        made.append([framework, network, str(len(members)), str(refused), *cells])
    return made
