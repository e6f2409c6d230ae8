"""What only a framework itself can do for a fault: one file each, named as its adapter, found by listing the folder.

OFFERS                                         a literal: what is in the file, of that which kinds of fault need
OWN                                            a literal: {function here: the op it is about, "" for any}: own traps
VARIABLES                                      a literal: {environment variable: its value}; "{cache}" in it is a folder
change_gradients(adapter, change, reported)    from now on change(name, gradient, value) is what its optimiser gets:
                                               NumPy arrays in one layout of the framework's choice, gradients of the
                                               mean loss without decay; adapter.gradients() shows it only if `reported`
operations(module)                             {op: operator as the adapter's OPS has them}: `scaled` (times `factors`
                                               on the last axis), `elements` (in the `order` given), `softmax`,
                                               `detached`, and wrong variants of the adapter's own
seed(value)                                    seed the framework's own generator

An adapter that has no file here is tested with the kinds that need none of this. All of it is for execution eager.
"""
