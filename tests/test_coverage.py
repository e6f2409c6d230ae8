"""The script that reproduces the method's tables: the gate on coverage, and what its few sets must already show."""

import sys

import numpy as np
import pytest

from checkout import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import coverage

SETS = 4000


@pytest.fixture
def random():
    return np.random.default_rng(1)


def test_order_statistics_cover_as_the_gate_wants_in_every_shape(random):
    found = coverage.of_cells(SETS, random)
    assert {shape for shape, _ in found} == set(coverage.SHAPES) and coverage.missed(found) == []
    for (_, count), (_, (value, error)) in found.items():
        exact = coverage.statistics.median_ranks(count)[2]
        assert abs(value - exact) < 4 * error


def test_t_interval_of_a_single_cell_fails_where_slow_processes_are_rare(random):
    assert coverage.of_cells(SETS, random)["outliers", 5][0][0] < 0.7


def test_a_gate_that_is_missed_is_named(random):
    found = coverage.of_cells(SETS, random)
    found["skewed", 5] = (found["skewed", 5][0], (0.80, 0.01))
    assert coverage.missed(found) == [("skewed", 5)]


def test_correction_keeps_false_differences_below_five_percent(random):
    for no_correction, holm, margin, in_force in coverage.of_false_differences(SETS, random).values():
        assert no_correction[0] > 0.4 and holm[0] < 0.06
        assert in_force[0] <= margin[0] < 0.05


def test_rule_in_force_is_not_fooled_by_one_ill_shaped_framework(random):
    for by_t, _, in_force in coverage.of_rule_unlike(SETS, random).values():
        assert in_force[0] < 0.025 + 4 * in_force[1]
        assert in_force[0] <= by_t[0]


def test_report_marks_what_differs_and_the_command_says_so(capsys, monkeypatch):
    monkeypatch.setitem(coverage.PUBLISHED_CELL, ("normal", 5), (0.5, 0.931))
    assert coverage.main(["--sets", "300"]) == 1
    printed = capsys.readouterr().out
    assert "(0.5, DIFFERS)" in printed and printed.count("\n## ") == 7 and "seed 2016" in printed
    assert "Gate (order statistics >= 0.92 at n = 5, >= 0.95 at n = 10): passed" in printed


def test_rounding_of_published_values_is_no_difference():
    assert not coverage.differs((0.9690, 0.0009), 0.97, 40_000)
    assert coverage.differs((0.9, 0.001), 0.97, 40_000)
