"""Results: collect the study's records into tables, draw its figures, write its guide; all of it can be rebuilt.

Needs records, its own and imported ones; makes results/tables, results/figures and results/report of the study.
"""


rule collect:
    """Read all records of the study into a table of records, one of cells, and one of what the gate compared."""
    input:
        records=plan.files,
        sources=plan.sources,
    output:
        expected=plan.output("tables", plan.study.name, "expected.json"),
        records=plan.output("tables", plan.study.name, "records.parquet"),
        cells=plan.output("tables", plan.study.name, "cells.parquet"),
        index=plan.output("tables", plan.study.name, "index.parquet"),
        gate=plan.output("tables", plan.study.name, "gate.parquet"),
    log:
        plan.output("logs", plan.study.name, "collect.log"),
    params:
        host=HOST,
        show=SHOW,
        study=plan.study.name,
        config=plan.config_text,
        folders=lambda wildcards: plan.record_folders,
        out=lambda wildcards, output: plan.folder(output[0]),
    shell:
        "({params.host} host.planning.expected --config {params.config:q} --out {output.expected:q} && "
        "{params.host} host.results.collect --study {params.study} --records {params.folders:q}"
        " --cells {output.expected:q} --out {params.out:q}) > {log:q} 2>&1 || {params.show} {log:q}"


rule table:
    """Write one of the study's tables as CSV, Markdown, LaTeX and Parquet."""
    input:
        cells=rules.collect.output.cells,
        gate=rules.collect.output.gate,
        plugin="workflow/tables/{table}.py",
    output:
        multiext(
            plan.output("tables", plan.study.name, "{table}"),
            csv=".csv",
            md=".md",
            tex=".tex",
            parquet=".parquet",
        ),
    log:
        plan.output("logs", plan.study.name, "{table}.table.log"),
    wildcard_constraints:
        table="|".join(plan.study.tables) or "none",
    params:
        host=HOST,
        show=SHOW,
        out=lambda wildcards, output: plan.folder(output[0]),
    shell:
        "{params.host} host.results.tables --name {wildcards.table} --cells {input.cells:q} --out {params.out:q}"
        " > {log:q} 2>&1 || {params.show} {log:q}"


rule figure:
    """Draw one of the study's figures as PDF, SVG and PNG, with its caption and the numbers drawn."""
    input:
        records=rules.collect.output.records,
        cells=rules.collect.output.cells,
        gate=rules.collect.output.gate,
        plugin="workflow/figures/{figure}.py",
    output:
        multiext(
            plan.output("figures", plan.study.name, "{figure}"),
            pdf=".pdf",
            svg=".svg",
            png=".png",
            md=".md",
            csv=".csv",
            json=".json",
        ),
    log:
        plan.output("logs", plan.study.name, "{figure}.figure.log"),
    wildcard_constraints:
        figure="|".join(plan.study.figures) or "none",
    params:
        host=HOST,
        show=SHOW,
        out=lambda wildcards, output: plan.folder(output[0]),
        commit=plan.commit,
    shell:
        "{params.host} host.results.figures --name {wildcards.figure} --records {input.records:q} --cells {input.cells:q}"
        " --out {params.out:q} --commit {params.commit:q} > {log:q} 2>&1 || {params.show} {log:q}"


rule guide:
    """Say in plain sentences what the study found and what it did not."""
    input:
        rules.collect.output.cells,
    output:
        plan.output("report", plan.study.name, "guide.md"),
    log:
        plan.output("logs", plan.study.name, "guide.log"),
    params:
        host=HOST,
        show=SHOW,
        study=plan.study.name,
        out=lambda wildcards, output: plan.folder(output[0]),
        places=plan.places_options,
    shell:
        "{params.host} host.results.guide --study {params.study} --cells {input:q} --out {params.out:q} {params.places:q}"
        " > {log:q} 2>&1 || {params.show} {log:q}"


rule report:
    """All tables, all figures and the guide of the study."""
    input:
        expand(
            plan.output("tables", plan.study.name, "{table}.md"),
            table=plan.study.tables,
        ),
        expand(
            plan.output("figures", plan.study.name, "{figure}.png"),
            figure=plan.study.figures,
        ),
        plan.output("report", plan.study.name, "guide.md"),
