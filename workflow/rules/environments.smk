"""Environments: one for each framework that missing cells need, all of them before the first cell.

Needs envs/<accelerator>/<framework>.yaml; makes a status file that says ready or why not, never an error.
"""


rule environment:
    """Build one framework's environment, or write down why it cannot be built here."""
    input:
        "envs/{accelerator}/{framework}.yaml",
    output:
        update(plan.environments("{accelerator}/{framework}.json")),
    log:
        plan.output("logs/environments/{accelerator}/{framework}.log"),
    priority: 3_000_000
    params:
        host=HOST,
        config=plan.environment_config,
        activated="--activated" if plan.activated(workflow) else "",
    shell:
        "{params.host} host.environments --framework {wildcards.framework} --accelerator {wildcards.accelerator}"
        " --status {output:q} --config {params.config:q} --log {log:q} {params.activated}"


rule environments:
    """All environments are there or known not to be: nothing is built beside a measured cell."""
    input:
        plan.status_files(),
    output:
        touch(plan.environments("ready")),
    priority: 3_000_000
