"""Everything that runs inside a framework's environment: Python 3.6 or newer, NumPy, and the framework in its adapter.

One process runs one job. It is started as `python -m worker JOB.json --channel N`, answers in JSON lines on
descriptor N and ends. Tasks are modules of this package with a function `run(job, channel, adapter_module)`.
"""
