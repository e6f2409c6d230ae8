"""Which of two is faster, and which of many: ratios within blocks, verdicts, ranks with ties.

ratio judges one pair from its differences within blocks, ranking corrects and orders all pairs of a family, families
finds in the cells what may be compared at all, sentences says it in words. docs/statistics.md explains the rules.
"""
