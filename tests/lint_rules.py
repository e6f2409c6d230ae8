"""Read what `snakemake --lint` says of the rules; print it and fail, but for what is meant to be so.

Usage: snakemake --lint 2>&1 | python tests/lint_rules.py
"""

import re
import sys

# Rules of the host zone run under the host environment, which requirements.txt pins: another one would be unused.
HOST_RULES = {"environment", "collect", "table", "figure", "guide"}
MEANT = "Specify a conda environment or container for each rule."


def main():
    """Print each complaint in a line; return 1 if there is any, or if the linter did not get to its end."""
    where, complaints, lines = None, [], sys.stdin.read().splitlines()
    for line in lines:
        of_rule = re.match(r"Lints for (?:rule |snakefile )(\S+)", line)
        title = re.match(r"    \* (.*?):?$", line)
        if of_rule:
            where = of_rule.group(1)
        elif title and not (title.group(1) == MEANT and where in HOST_RULES):
            complaints.append("{}: {}".format(where, title.group(1)))
    if where is None and not any("Congratulations" in line for line in lines):
        complaints.append("the linter said nothing of the rules:\n" + "\n".join(lines))
    print("\n".join(complaints) or "snakemake --lint: nothing to complain")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
