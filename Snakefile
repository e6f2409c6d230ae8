"""Levelfield: which deep-learning framework for which network on which machine, and why.

snakemake                        run what the configured study lacks here, then tables, figures and the guide
snakemake -n                     say which cells are missing
snakemake --config study=smoke   another study
"""

import os
import shlex
import sys

from snakemake.logging import logger
from snakemake.utils import min_version

min_version("9.27")


configfile: "config/config.yaml"


sys.path.insert(0, f"{workflow.basedir}/workflow")

from host import catalogue
from host.planning import flow, hardware

try:
    plan = flow.plan(config)
except catalogue.Mistake as error:
    sys.exit(str(error))

# Modules of the host zone, run by its own Python.
HOST = shlex.join(
    ["env", f"PYTHONPATH={workflow.basedir}/workflow", sys.executable, "-m"]
)
SHOW = "sh -c 'cat \"$0\" >&2; exit 1'"  # print a log and fail: the reason stands where the user looks

for handler in logger.handlers:
    handler.addFilter(flow.without_chatter)

if workflow.is_main_process:
    print(plan.summary(), file=sys.stderr)
    if flow.is_dry_run(sys.argv) and plan.missing:
        print(plan.listing(), file=sys.stderr)


include: "workflow/rules/results.smk"


if not plan.config["records"]:

    include: "workflow/rules/environments.smk"
    include: "workflow/rules/measure.smk"


rule all:
    default_target: True
    input:
        [plan.output("records", path) for path in plan.reachable]
        if not plan.config["records"]
        else [],
        rules.report.input,


onstart:
    hardware.write_here(plan.hardware)


onsuccess:
    print(plan.closing(), file=sys.stderr)
