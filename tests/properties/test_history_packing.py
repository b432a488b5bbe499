"""Keys that order rows by several columns: exact up to the last id there is, whatever the rows and ranges."""

import numpy as np
import pytest
from fencepost.properties.history.pieces import BITS, bits_for, check_goes_on, narrowed, packed, ranked, sorted_stably
from fencepost.properties.history.vocabulary import HistoryError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

MAX = 2**63 - 1
EDGES = st.sampled_from([-1, 0, 1, 2, 5, 2**31, 2**62, MAX - 2, MAX - 1, MAX])


@settings(suppress_health_check=[HealthCheck.too_slow])  # on a machine with other work the first examples are
@given(st.lists(st.lists(EDGES, max_size=6), min_size=1, max_size=4), st.integers(0, 40))
def test_narrowed_keeps_order_and_equality_and_fits(raw: list[list[int]], bits: int) -> None:
    """Values compare as before, also across arrays, and the greatest + 1 still fits into the bits returned."""
    small, used = narrowed([np.array(values, np.int64) for values in raw], bits)
    before = np.concatenate([np.array(values, np.int64) for values in raw])
    after = np.concatenate(small)
    assert [len(array) for array in small] == [len(values) for values in raw]
    assert np.array_equal(before[:, None] < before, after[:, None] < after)
    assert not len(after) or (after.min() >= 0 and int(after.max()) + 1 < 2**used)
    assert used <= max(bits, bits_for(len(before) + 1), 1)


@given(arrays(np.int64, st.integers(0, 40), elements=st.sampled_from([0, 1, 7, 2**40, MAX - 1, MAX])))
def test_sorted_stably_is_a_stable_sort(key: np.ndarray) -> None:
    """Keys of 16 bits are sorted as stably as those of 63."""
    order, ordered = sorted_stably(key)
    assert np.array_equal(order, np.argsort(key, kind="stable"))
    assert np.array_equal(ordered, key[order])


@pytest.mark.parametrize("greatest", [2**16 - 1, 2**16, MAX])
def test_sorted_stably_at_the_edge_of_16_bits(greatest: int) -> None:
    """Enough equal keys that an unstable sort would show itself, and none is cut off."""
    key = np.tile(np.array([greatest, greatest - 1, 3]), 5000)
    order, ordered = sorted_stably(key)
    assert np.array_equal(order, np.argsort(key, kind="stable"))
    assert np.array_equal(ordered, np.sort(key))


@given(arrays(np.int64, st.integers(0, 40), elements=st.sampled_from([-MAX - 1, -1, 0, 1, 7, 2**40, MAX])))
def test_ranked_counts_the_distinct_values_below(values: np.ndarray) -> None:
    """As `np.unique` does, which sorts what is sorted already."""
    distinct, rank = np.unique(values, return_inverse=True)
    ranks, count = ranked(values)
    assert (ranks.tolist(), count) == (rank.tolist(), len(distinct))


@pytest.mark.parametrize(("high", "bits"), [(1, BITS - 1), (2**20 - 1, BITS - 20), (0, BITS)])
def test_packed_uses_every_bit(high: int, bits: int) -> None:
    """The greatest values that fit give a key that is positive and comes apart again."""
    low = 2**bits - 1
    (key,) = packed(np.array([high]), np.array([low]), bits)
    assert (int(key) >> bits, int(key) & low) == (high, low)


@pytest.mark.parametrize(("high", "bits"), [(1, BITS), (2**20, BITS - 20), (MAX, 1)])
def test_packed_refuses_to_wrap(high: int, bits: int) -> None:
    """One bit more, and violations could hide in a wrapped key."""
    with pytest.raises(OverflowError, match=f"exceed {BITS} bits"):
        packed(np.array([high]), np.array([0]), bits)


@pytest.mark.parametrize(
    ("before", "steps", "message"),
    [
        (3, [4, 5, 7], "history 3 step 7 comes after history 3 step 5"),
        (2, [4, 5, 6], "history 3 step 4 comes after history 3 step 2"),
        (None, [1, 2, 3], "history 3 begins with step 1; it is cut"),
    ],
)
def test_a_gap_in_a_history_that_is_cut_is_refused(before: int | None, steps: list[int], message: str) -> None:
    """Within a part, between two, and before the first."""
    last = {} if before is None else {"history": np.array([3]), "step": np.array([before])}
    with pytest.raises(HistoryError, match=message):
        check_goes_on({"history": np.full(3, 3), "step": np.array(steps)}, last, "here")
