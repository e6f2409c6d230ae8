"""The whole suite: plan, leave out what changes nothing, run each framework, judge."""

import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from faults import explained, kinds, load, networks, plan, run
from host import catalogue

REFERENCE = "reference"
FAULTS = ("graph", "gradient", "training", "own", "dropout")
SCREENED = ("graph", "gradient", "training")
HONEST, NOISE = "nothing at all", "one unit in the last place"
SIDE_BY_SIDE = max(1, len(os.sched_getaffinity(0)))  # frameworks at a time, each with one thread


@dataclass
class Result:
    """What the suite found.

    outcomes   [run.Outcome] of faults
    honest     [run.Outcome] of adapters without a fault, and with one unit in the last place of noise
    unchanged  [(kind, group)] that changed nothing in float64 wherever they were planted, and were left out
    """

    outcomes: list
    honest: list
    unchanged: list

    @property
    def survivors(self):
        """Return the faults that no check exceeds."""
        return [outcome for outcome in self.outcomes if not outcome.caught_by]

    @property
    def unexplained(self):
        """Return the survivors that nobody has explained."""
        return [outcome for outcome in self.survivors if explained.why(outcome.fault) is None]

    @property
    def surprising(self):
        """Return the faults that were refused for a reason that nobody expected: the suite's own mistake, perhaps."""
        refused = [outcome for outcome in self.outcomes if "refused" in outcome.excess]
        return [outcome for outcome in refused if explained.why_refused(outcome.fault) is None]

    @property
    def refused_honest(self):
        """Return the outcomes without a fault that some check exceeds."""
        return [outcome for outcome in self.honest if outcome.caught_by]

    @property
    def share_caught(self):
        """Return the share of the faults that some check exceeds."""
        return 1 - len(self.survivors) / max(1, len(self.outcomes))


def survey(pythons, folder, names=None, cache=networks.CACHE):
    """Return the Result of planting every kind of fault in these frameworks.

    pythons  {framework key: its environment's Python}
    folder   scratch folder for jobs and arrays
    names    the networks; all by default
    """
    found, graphs = planned(pythons, names)
    bundles = {(network, forms): None for network in graphs for forms in map(forms_of, pythons)}
    for network, forms in bundles:
        framework = next(each for each in pythons if forms_of(each) == forms)
        bundles[network, forms] = networks.bundled(network, framework, cache)
    first = forms_of(next(iter(pythons)))
    screened, unchanged, signals = screen(found, {n: bundles[n, first] for n in graphs}, Path(folder) / REFERENCE)

    def one(framework):
        made = {network: bundles[network, forms_of(framework)] for network in graphs}
        faults = plan.of_framework(framework, screened)
        return outcomes(framework, pythons[framework], faults, made, Path(folder) / framework)

    result = Result([], [], unchanged)
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        for outcome in itertools.chain.from_iterable(pool.map(one, pythons)):
            outcome.signal = signals.get(outcome.fault)
            honest = kinds.KINDS[outcome.fault.kind].family == "honest"
            (result.honest if honest else result.outcomes).append(outcome)
    return result


def planned(pythons, names):
    """Return (candidates of `plan.candidates`, {network: (gate graph, training graph)})."""
    for framework in pythons:
        load.own(plan.tools(framework)["OWN"])
    names = list(networks.names()) if names is None else names
    graphs = {name: (networks.lowered(name, "gate"), networks.lowered(name, "training")) for name in names}
    return plan.candidates(graphs, (*FAULTS, "honest")), graphs


def forms_of(framework):
    """Return what bundles differ by between frameworks: their declared forms."""
    declared = catalogue.adapter_literals(framework)
    return declared["MOMENTUM_FORM"], declared["RUNNING_VARIANCE"]


def outcomes(framework, python, faults, made, folder):
    """Return [Outcome] of faults in a framework, in the order given.

    made  {network: its Bundle}
    """
    folder.mkdir(parents=True)
    described = {network: networks.describe(network, each, folder) for network, each in made.items()}
    findings = run.run(framework, python, faults, described, folder / "arrays")
    return [run.judge(framework, fault, findings[fault.id], made[fault.network], folder / "arrays") for fault in faults]


def screen(found, made, folder):
    """Return (candidates less those that change nothing in float64, [(kind, group)] left out, {Planned: signal}).

    Of each kind and group the first place is tried in the reference; one that changes nothing gives way to the next.
    What the reference cannot do is kept as it is.
    """
    folder.mkdir(parents=True)
    described = {network: networks.describe(network, each, folder) for network, each in made.items()}
    honest = [plan.Planned(HONEST, "", network, kinds.NOWHERE) for network in made]
    findings = run.run(REFERENCE, sys.executable, honest, described, folder / "honest")
    right = {fault.network: (findings[fault.id], run.arrays(folder / "honest", fault)) for fault in honest}
    kept, signals = dict(found), {}
    for number in itertools.count():
        trial = [fault for fault in plan.of_framework(REFERENCE, kept) if fault not in signals]
        trial = [fault for fault in trial if kinds.KINDS[fault.kind].family in SCREENED]
        place = folder / str(number)
        if not trial:
            break
        findings = run.run(REFERENCE, sys.executable, trial, described, place)
        for fault in trial:
            signals[fault] = run.judge(REFERENCE, fault, findings[fault.id], made[fault.network], place).excess
            if not run.felt(findings[fault.id], fault, *right[fault.network], place):
                kept[fault.kind, fault.group] = kept[fault.kind, fault.group][1:]
        kept = {key: places for key, places in kept.items() if places}
    return kept, sorted(set(found) - set(kept)), signals
