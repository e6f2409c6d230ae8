"""What a call is about: axes, studies, platforms, and the plan that Snakemake's rules ask."""
