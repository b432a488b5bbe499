"""The compiled set of states by itself, against Python's, with states of one and of several columns."""

import numpy as np
import pytest
from fencepost.proofs.engines.explore.compiled_search.hashed import PARTS, emit_put, emit_table
from fencepost.proofs.engines.explore.packing import Words
from fencepost.proofs.engines.explore.search import OutOfMemory

pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
from fencepost.proofs.engines.explore.compiled_search import loaded, seen


def one_by_one(task: object, items: object) -> list[object]:
    return [task(item) for item in items]  # type: ignore[attr-defined, operator]


def put(made: seen.Seen, states: np.ndarray) -> None:
    """Into the first buffer, as expanding does."""
    code = loaded.load(emit_put(made.words))
    flat = np.ascontiguousarray(states).ravel()
    code.put(flat, np.uint64(len(states)), made.buffers[0], made.sizes[0], made.recent[0])


def rows(level: Words) -> list[tuple[int, ...]]:
    return list(zip(*(c.tolist() for c in level), strict=True))


@pytest.mark.parametrize("words", [1, 2, 3])
@pytest.mark.parametrize("keys", [7, 1 << 40], ids=["few keys", "many keys"])
def test_what_is_new_comes_out_once_and_in_order(words: int, keys: int) -> None:
    """States drawn from few, so that most come again; with keys that coincide, and with the initial one among them."""
    draw = np.random.default_rng(words)
    kinds = draw.integers(-keys, keys, size=(3000, words))
    kinds[:, 1:] = draw.integers(-2, 2, size=(3000, words - 1))
    kinds[1] = -1
    made = seen.Seen(loaded.load(emit_table(words)), kinds[0].copy(), 2, 4000, 1 << 30)
    known, tables = {tuple(kinds[0].view(np.uint64).tolist())}, [t.size for t in made.tables]
    for _ in range(6):
        states = kinds[draw.integers(0, len(kinds), 2000)]
        put(made, states)
        assert made.empty(2, one_by_one) <= 2000
        fresh = {tuple(row) for row in states.view(np.uint64).tolist()} - known
        assert rows(made.take(one_by_one)) == sorted(fresh)
        known |= fresh
    assert len(known) == len({tuple(row) for row in kinds.tolist()}) or keys > 7
    assert sum(made.counts) == len(known) - 1 and [t.size for t in made.tables] >= tables


def test_tables_grow_in_the_middle_of_a_part() -> None:
    """Many more states than the first tables hold, in one round; and not beyond the limit."""
    states = np.arange(1, 200_001, dtype=np.int64).reshape(-1, 1)
    made = seen.Seen(loaded.load(emit_table(1)), np.zeros(1, np.int64), 1, 200_000, 1 << 31)
    before = sum(t.size for t in made.tables)
    put(made, states)
    assert made.empty(1, one_by_one) == 200_000
    assert np.array_equal(made.take(one_by_one)[0], np.arange(1, 200_001))
    assert sum(t.size for t in made.tables) > 8 * before
    small = seen.Seen(made.code, np.zeros(1, np.int64), 1, 200_000, 1 << 31)
    put(small, states)
    small.memory_limit = small.nbytes
    with pytest.raises(OutOfMemory):
        small.empty(1, one_by_one)
    assert PARTS * small.room * 8 == small.buffers.nbytes
