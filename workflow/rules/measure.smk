"""Cells: one fresh worker process each, one at a time, in the study's random order; each ends in one record.

Needs the environments; makes results/records/<hardware>/<framework>/<network>/<stem>.json.
"""


rule measure:
    """Run one cell in its framework's own environment; a failed cell gives a record too."""
    input:
        environment=lambda wildcards: plan.environment_of(wildcards),
        environments=plan.environments("ready"),
    output:
        update(plan.output("records/{hardware}/{framework}/{network}/{stem}.json")),
    log:
        plan.output("logs/{hardware}/{framework}/{network}/{stem}.log"),
    priority: lambda wildcards: plan.priority(plan.path(wildcards))
    conda:
        lambda wildcards: plan.environment_file(wildcards)
    threads: workflow.cores  # nothing runs beside a measured cell
    resources:
        runtime=lambda wildcards: plan.minutes(plan.path(wildcards)),
    params:
        host=HOST,
        study=plan.study.name,
        cell=lambda wildcards: plan.texts(wildcards)["cell"],
        protocol=lambda wildcards: plan.texts(wildcards)["protocol"],
        block=lambda wildcards: plan.texts(wildcards)["block"],
        progress=lambda wildcards: plan.progress(plan.path(wildcards)),
        accelerator=lambda wildcards: plan.accelerator(wildcards),
        cache=plan.environments("cache/cells"),
        started_by=os.getpid(),
        activated="--activated" if plan.activated(workflow) else "",
    shell:
        "exec {params.host} host.measure --cell {params.cell:q} --protocol {params.protocol:q} --block {params.block:q}"
        " --study {params.study} --environment {input.environment:q} {params.activated} --record {output:q}"
        " --check-hardware --accelerator {params.accelerator} --cache {params.cache:q} --started-by {params.started_by}"
        " --progress {params.progress} --log {log:q}"
