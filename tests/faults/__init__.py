"""The saboteur suite of the gate: mistakes planted in the real adapters, judged by the gate's own comparison.

Usage: python -m faults  (with the folders `workflow` and `tests` on PYTHONPATH, under the host's Python; `make faults`)

What is planted is generated: each kind of fault (`graphs/`, `training`, `optimizers`, `gradients`, `dropout`) on each
operation or tensor of the gate networks that it fits. It is put on an adapter from outside, in a process of the
framework's environment (`inside`): product code has no hook for it. What a framework alone can do, its own operators
and the gradients it computes, is in `frameworks/`, one file each, found by listing the folder. The host plans, judges
and prints (`plan`, `judge`, `table`). docs/faults.md says what the gate catches.

Modules that a framework's environment imports keep to Python 3.6 with NumPy: fault, faulty, kinds, those of the faults,
inside and frameworks/.
"""
