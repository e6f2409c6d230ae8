"""Plant every kind of fault in every framework that has an environment, and print which check catches which.

Usage: python -m faults [--frameworks torch,...] [--networks mlp,...] [--out FOLDER] [--seeds N]
Fails if a survivor has no reason, a reason no survivor, a fault cannot be run for a reason that nobody expected, or
anything without a fault is refused. With --seeds nothing is planted: the adapters run as they are, from N starts of
every network.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from faults import environments, explained, networks, seeds, suite, table


def main(arguments):
    """Return the exit status."""
    options = parse(arguments)
    pythons = environments.ready(options.frameworks)
    names = options.networks or list(networks.names())
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        if options.seeds:
            return report_seeds(seeds.survey(pythons, Path(folder), names, options.seeds, options.cache), options.out)
        result = suite.survey(pythons, Path(folder), names, options.cache)
    return report(result, options.out, complete=not (options.frameworks or options.networks))


def parse(arguments):
    """Return the command line's options."""
    made = argparse.ArgumentParser(prog="faults", description=__doc__.splitlines()[0])
    made.add_argument("--frameworks", type=words, help="framework keys, with commas; all that have an environment")
    made.add_argument("--networks", type=words, help="networks, with commas; all")
    made.add_argument("--out", type=Path, help="folder for faults.md and faults.csv")
    made.add_argument("--seeds", type=int, default=0, help="plant nothing; run the adapters from so many starts")
    made.add_argument("--cache", type=Path, default=networks.CACHE, help="folder of the gate's bundles")
    return made.parse_args(arguments)


def words(text):
    """Return the words of a text with commas."""
    return [word for word in text.split(",") if word]


def report(result, out, complete=True):
    """Print the table and the summary, write them into a folder, return 1 if the suite fails."""
    made, told = table.rows(result.outcomes), table.summary(result)
    idle = explained.idle(result.survivors) if complete else []
    told += "".join("\na reason without a survivor: {} in {}, {}".format(*key) for key in idle)
    say("{}\n\n{}".format(table.markdown(made), told))
    if out:
        out.mkdir(parents=True, exist_ok=True)
        lines = told.replace("\n", "\n\n")
        (out / "faults.md").write_text("{}\n\n{}\n".format(lines, table.markdown(made)), encoding="utf-8")
        table.write_csv(result.outcomes, out / "faults.csv")
    return int(bool(result.unexplained or result.surprising or result.refused_honest or idle))


def report_seeds(found, out):
    """Print how near to their tolerances adapters without a fault come; return 1 if one is refused."""
    made = seeds.rows(found)
    say(table.markdown(made))
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "seeds.md").write_text(table.markdown(made) + "\n", encoding="utf-8")
    return int(any(outcome.caught_by for _, outcome in found))


def say(text):
    """Write to the terminal."""
    sys.stdout.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
