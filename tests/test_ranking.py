"""Many pairs: Holm on a textbook example, classes and letters on constructed data, ranks with ties."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.results.comparison import ranking

p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_holm_of_a_textbook_example():
    """Four tests: 0.005 * 4, 0.01 * 3, then 0.03 * 2 and 0.04 * 1, which may not fall below 0.06."""
    assert ranking.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_steps_down_where_bonferroni_does_not():
    adjusted = ranking.holm([0.01, 0.02, 0.04])
    assert (adjusted <= 0.05).all() and 3 * 0.02 > 0.05


def test_holm_stops_at_the_first_that_is_not_rejected():
    """0.03 alone would be rejected at 0.05, but the one before it is not."""
    assert (ranking.holm([0.001, 0.026, 0.03]) <= 0.05).tolist() == [True, False, False]


@given(p_values)
def test_holm_is_between_no_correction_and_bonferroni_and_keeps_the_order(p):
    adjusted = ranking.holm(p)
    assert (adjusted >= np.array(p)).all(), "never rejects more than without correction"
    assert (adjusted <= np.minimum(1, len(p) * np.array(p)) + 1e-12).all(), "never less than Bonferroni"
    assert (np.diff(adjusted[np.argsort(p, kind="stable")]) >= 0).all()


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=4))
def test_holm_of_many_families_is_that_of_each(rows):
    assert ranking.holm(rows).tolist() == [ranking.holm(row).tolist() for row in rows]


def matrix(count, *slower):
    found = np.zeros((count, count), dtype=bool)
    for one, other in slower:
        found[one, other] = True
    return found


def test_classes_begin_anew_at_the_first_that_is_slower_than_the_leader():
    times = [4.0, 1.0, 3.0, 2.0]  # entries 1, 3, 2, 0 from the fastest
    slower = matrix(4, (2, 1), (0, 1), (0, 3), (0, 2))
    assert ranking.speed_classes(times, slower) == [3, 1, 2, 1]
    assert ranking.tied_ranks([3, 1, 2, 1]) == [4.0, 1.5, 3.0, 1.5]


def test_a_noisy_entry_stays_with_the_leader_that_it_is_not_shown_to_lose_against():
    """Third by its estimate, not declared slower than the first: class 1, though the second leads class 2."""
    assert ranking.speed_classes([1.0, 1.2, 1.3], matrix(3, (1, 0))) == [1, 2, 1]


def test_without_any_difference_all_share_class_letter_and_rank():
    none = matrix(3)
    assert ranking.speed_classes([1, 2, 3], none) == [1, 1, 1]
    assert ranking.letters([1, 2, 3], none) == ["a", "a", "a"]
    assert ranking.tied_ranks([1, 1, 1]) == [2.0, 2.0, 2.0]


def test_letters_overlap_where_neighbours_tie_and_ends_differ():
    different = matrix(3, (2, 0))
    assert ranking.letters([1.0, 1.1, 1.2], different | different.T) == ["a", "ab", "b"]


@given(st.integers(1, 7).flatmap(lambda count: st.tuples(st.just(count), st.randoms(use_true_random=False))))
def test_letters_are_shared_exactly_by_those_that_do_not_differ(drawn):
    count, random = drawn
    different = matrix(count, *(pair for pair in itertools.combinations(range(count), 2) if random.random() < 0.5))
    different = different | different.T
    names = ranking.letters([random.random() for _ in range(count)], different)
    assert all(names)
    for one, other in itertools.combinations(range(count), 2):
        assert bool(set(names[one]) & set(names[other])) == (not different[one, other])


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_every_entry_has_a_class_and_its_leader_is_the_fastest_of_it(count, random):
    times = [random.random() for _ in range(count)]
    slower = np.array([[times[i] > times[j] and random.random() < 0.5 for j in range(count)] for i in range(count)])
    classes = ranking.speed_classes(times, slower)
    assert set(classes) == set(range(1, max(classes) + 1))
    leaders = {number: min((t, i) for i, t in enumerate(times) if classes[i] == number)[1] for number in classes}
    for entry, number in enumerate(classes):
        assert not slower[entry, leaders[number]]
        assert all(slower[entry, leaders[better]] for better in range(1, number))
    assert sum(ranking.tied_ranks(classes)) == count * (count + 1) / 2


def test_letters_of_more_than_an_alphabet_stay_apart():
    different = ~np.eye(30, dtype=bool)
    names = ranking.letters(list(range(30)), different)
    assert len(set(names)) == 30 and names[26] == "a1"
