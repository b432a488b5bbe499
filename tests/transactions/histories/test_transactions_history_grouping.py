"""Rows that belong together are numbered, and the neighbours in a group are found as by a loop."""

from collections.abc import Callable

import numpy as np
import pytest
from fencepost.properties.history.event_view import EventView
from fencepost.properties.history.grouping import (
    NEVER,
    NONE,
    Groups,
    contained,
    first_equal,
    first_rows,
    joined,
    last_rows,
    looked_up,
    numbered,
)
from hypothesis import given
from hypothesis import strategies as st

MAX = 2**63 - 1
VALUES = st.sampled_from([-1, 0, 1, 2, 5, 2**31, 2**62, MAX - 1, MAX])
ROWS = st.lists(st.tuples(st.integers(0, 3), VALUES, st.integers(-1, 3)), max_size=30)


def columns(rows: list[tuple[int, int, int]]) -> tuple[np.ndarray, ...]:
    """Return three columns of these rows, sorted by the first, their history."""
    ordered = sorted(rows, key=lambda row: row[0])
    return tuple(np.array([row[place] for row in ordered], np.int64) for place in range(3))


@given(ROWS)
def test_numbers_are_equal_and_ordered_like_the_values(rows: list[tuple[int, int, int]]) -> None:
    place, one, other = columns(rows)
    number, size = numbered(place, one, other)
    keys = list(zip(place.tolist(), one.tolist(), other.tolist(), strict=True))
    for first, key in enumerate(keys):
        for second, against in enumerate(keys):
            assert (number[first] < number[second]) == (key < against)
    assert size <= 4 * len(rows) + 1024
    assert not len(rows) or (number.min() >= 0 and number.max() < size)


@pytest.mark.parametrize("shift", [
    lambda place: 0 * place, lambda place: 1000 * (place % 2), lambda place: place * 10**6, lambda place: place * 2**50,
])  # fmt: skip
def test_the_four_ways_of_numbering(shift: Callable[[np.ndarray], np.ndarray]) -> None:
    """The four ways (one range for all histories, one without unused values, one for each history, and ranks) order
    rows alike."""
    rng = np.random.default_rng(5)
    place = np.sort(rng.integers(0, 50, 5000))
    value = rng.integers(0, 20, 5000) * np.where(shift(place).max() > 2**40, 2**40, 1) + shift(place)
    number, size = numbered(place, value)
    assert np.array_equal(np.argsort(number, kind="stable"), np.lexsort((value, place)))
    assert np.array_equal(number[1:] == number[:-1], (value[1:] == value[:-1]) & (place[1:] == place[:-1]))
    assert size <= 4 * 5000 + 1024


@pytest.mark.parametrize("share", [0.05, 0.9])
@pytest.mark.parametrize("greatest", [3, 10**9])
def test_numbers_of_all_rows_are_those_of_the_rows_that_apply(share: float, greatest: int) -> None:
    rng = np.random.default_rng(6)
    value = np.where(rng.random(3000) < share, rng.integers(0, greatest + 1, 3000), -1)
    other = np.where(rng.random(3000) < 0.9, rng.integers(0, 3, 3000), -1)
    history = np.sort(rng.integers(7, 57, 3000))
    view = EventView({"history": history, "value": value, "other": other})
    numbers = view.numbers_of("value", "other")
    applies = (value >= 0) & (other >= 0)
    assert np.array_equal(numbers.of == numbers.size, ~applies)
    _, number = np.unique(np.stack([history, value, other])[:, applies], axis=1, return_inverse=True)
    found = numbers.of[applies]
    assert len(np.unique(found)) == len(np.unique(np.stack([found, number.reshape(-1)]), axis=1).T) == number.max() + 1


@given(st.lists(st.tuples(VALUES, VALUES, VALUES, VALUES), min_size=1, max_size=20))
def test_joined_orders_like_tuples(rows: list[tuple[int, ...]]) -> None:
    """The four columns together need far more than 63 bits."""
    key = joined(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))
    assert key.min() >= 0
    for first, one in enumerate(rows):
        for second, other in enumerate(rows):
            assert (key[first] < key[second]) == (one < other)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=25))
def test_groups_tell_what_came_before_and_after(rows: list[tuple[int, int, bool]]) -> None:
    number, by = (np.array([row[place] for row in rows], np.int64) for place in (0, 1))
    groups = Groups(np.arange(len(rows)), number, by=by)
    order = sorted(range(len(rows)), key=lambda row: (rows[row][0], rows[row][1], row))
    assert groups.rows.tolist() == order
    chosen = np.array([rows[row][2] for row in order], bool)
    greatest = groups.greatest(by[groups.rows])
    reached = groups.reached(greatest)
    for place, row in enumerate(order):
        mine = [other for other in range(len(order)) if rows[order[other]][0] == rows[row][0]]
        before = [other for other in mine if other < place and chosen[other]]
        after = [other for other in mine if other > place and chosen[other]]
        assert groups.before(chosen)[place] == max(before, default=NONE)
        assert groups.after(chosen)[place] == min(after, default=NONE)
        until = [rows[order[other]][1] for other in mine if other <= place]
        assert greatest[place] == max(until)
        assert reached[place] == mine[until.index(max(until))]


def test_groups_keep_the_order_given_where_values_are_equal() -> None:
    rows = np.array([3, 5, 8, 9])
    assert Groups(rows, np.array([1, 0, 1, 0])).rows.tolist() == [5, 9, 3, 8]
    assert Groups(rows, np.array([1, 0, 1, 0]), by=np.array([7, 2, 6, 2])).rows.tolist() == [5, 9, 8, 3]


def test_first_and_last_rows() -> None:
    number, rows = np.array([2, 0, 2, 0, 2]), np.array([10, 11, 12, 13, 14])
    assert first_rows(number, rows, 4).tolist() == [11, NEVER, 10, NEVER]
    assert last_rows(number, rows, 4).tolist() == [13, NONE, 14, NONE]


def test_first_equal_stays_within_the_history() -> None:
    place = np.array([0, 0, 0, 1, 1, 2])
    rows, among = np.array([5, 3, 0]), np.array([1, 2, 4])
    found = first_equal(place, rows, (np.array([7, 7, 7]),), among, (np.array([7, 7, 7]),))
    assert found.tolist() == [NEVER, 4, 1]


@given(st.lists(st.integers(0, 40)), st.lists(st.one_of(st.integers(0, 40), st.just(2**40))))
def test_contained(wanted: list[int], keys: list[int]) -> None:
    """Small keys are found by table, and others by search."""
    found = contained(np.array(wanted, np.int64), np.array(keys, np.int64))
    assert found.tolist() == [value in keys for value in wanted]


def test_looked_up() -> None:
    assert looked_up(np.array([0, 1, 2, 9]), np.array([1, 1, 4])).tolist() == [NONE, 1, 1, 2]
