"""The contract suite: what every adapter must do, checked inside its framework's environment by one process of it.

Usage: python -m contract JOB.json  (with the folders `workflow` and `tests` on PYTHONPATH)
The job names the framework key, the networks' graphs with start values and batches, and the file for the findings:
{check: {subject: [complaints]}}, where a subject is a network or "-" and no complaint means that the check passed.
Plain Python 3.6 with NumPy: environments hold no test runner. tests/test_contract.py starts it and reads the findings.
"""
