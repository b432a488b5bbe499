"""This module emits the source of the compiled search's set of states, for states of a given number of columns.

The first bits of a state's hash choose a part of the buffers, then a segment of the table, then the slot in it. So the
states in one part of a buffer go into one stretch of the table, which stays in a core's cache while the part is
processed, and no two threads ever write to one segment. A table stores each state as its difference from the initial
state. An empty slot therefore represents the initial state, which is always found.
"""

from collections.abc import Sequence

from fencepost.proofs.engines.explore import sets

PART_BITS, SEGMENT_BITS, RECENT_BITS = 8, 4, 15
PARTS, SEGMENTS = 1 << PART_BITS, 1 << SEGMENT_BITS
"""A buffer has the first number of parts, and the table the second number of segments, which grow one by one."""
LARGEST_LOAD = 0.7


def columns_of(words: Sequence[str]) -> list[str]:
    """Return the set columns, as texts over the texts of words."""
    *low, high = words
    return [f"({' ^ '.join([high, *_mixed(low)])}) * {signed(sets.B)}", *low] if low else [high]


def words_of(columns: Sequence[str]) -> list[str]:
    """Return the words, as texts over the texts of set columns."""
    key, *low = columns
    return [*low, " ^ ".join([f"({key} * {signed(sets.UNDO_B)})", *_mixed(low)])] if low else [key]


def _mixed(low: Sequence[str]) -> list[str]:
    return [f"({word} * {signed(pow(sets.A, number, 2**64))})" for number, word in enumerate(low, 1)]


def _hash(count: int) -> str:
    # The key of several words is mixed already.
    return "U(c0)" if count > 1 else f"U((c0 ^ (c0 >> 32)) * {signed(sets.A)})"


def _slot(count: int) -> str:
    """Return the source of the slot of a hash. A multiplication allows a segment to have any number of slots."""
    return f"slot = (((({_hash(count)}) << U({SEGMENT_BITS})) >> U(32)) * slots >> U(32)) * U({count})"


def signed(word: int) -> int:
    word &= 2**64 - 1
    return word - 2**64 if word >= 2**63 else word


def emit_put(count: int) -> str:
    """Return the source of ``put(made, k, buffer, sizes, recent)``, which appends k states of ``count`` columns each to
    the parts of a buffer, and returns the size of the fullest part that it touched."""
    fields = range(count)
    at = f"made[n * U({count}) + U({{}})]"
    lines = [
        f"fullest, room = U(0), U(buffer.size // {PARTS * count})",
        "for n in range(k):",
        *(f"    c{i} = {at.format(i)}" for i in fields),
        f"    h = {_hash(count)}",
        f"    part, near = h >> U({64 - PART_BITS}), (h >> U({64 - RECENT_BITS})) * U({count})",
        "    size = sizes[part]",
        f"    place = (part * room + size) * U({count})",
        f"    new = {' | '.join(f'(recent[near + U({i})] != c{i})' for i in fields)}",
        *(f"    buffer[place + U({i})] = recent[near + U({i})] = c{i}" for i in fields),
        "    sizes[part] = size = size + U(new)",
        "    fullest = max(fullest, size)",
        "return fullest",
    ]
    return _function("put(made, k, buffer, sizes, recent)", lines)


def emit_table(count: int) -> str:
    """Return the source of the functions on tables.

    ``insert(table, initial, buffers, sizes, last, at, fresh, load)`` puts the parts before ``last``, from all buffers,
    into a segment's table, and appends new states to ``fresh``. ``at`` holds the part, the buffer and the place in it
    at which to go on, the number of states in ``fresh`` and in the table, and a last value that only prevents
    prefetching from being optimised away. The function returns False if the table has reached ``load`` states, and must
    be enlarged before it goes on.

    ``enlarge(old, table, initial)`` copies a table into a larger one, side by side, since both tables are in the order
    of the hash.

    ``select(states, low, high, out, k)`` appends the states whose first column is in that range to ``out``, which holds
    k states and has room for one more, and returns the new number.

    ``sort(states, spare)`` returns whichever of both arrays holds the sorted states.
    """
    functions = {
        "insert(table, initial, buffers, sizes, last, at, fresh, load)": _insert(count),
        "enlarge(old, table, initial)": _enlarge(count),
        "select(states, low, high, out, k)": _select(count),
        "sort(states, spare)": _sort(count),
    }
    return "".join(_function(head, lines) for head, lines in functions.items())


def _insert(count: int) -> list[str]:
    fields = range(count)
    load = [f"c{i} = buffer[n * U({count}) + U({i})]" for i in fields]
    differ = [f"c{i} ^= e{i}" for i in fields]
    same, empty = (" & ".join(f"(table[slot + U({i})] == {what.format(i)})" for i in fields) for what in ("c{}", "0"))
    return [
        f"last_slot, room = U(table.size - {count}), buffers.shape[1] // {PARTS}",
        f"slots = U(table.size // {count})",
        "places, rest = np.empty(64, np.uint64), np.empty(64, np.uint64)",
        *(f"e{i} = initial[{i}]" for i in fields),
        "new, held = U(at[3]), at[4]",
        f"length, touched = table.size // {PARTS // SEGMENTS}, np.int64(0)",
        "for part in range(at[0], last):",
        "    count = 0",
        "    for t in range(at[1], len(buffers)):",
        "        count += np.int64(sizes[t, part])",
        "    # A stretch most of which will be needed is fetched in order, which takes a fraction of the time.",
        "    if length <= 32 * count:",
        f"        first = (part % {PARTS // SEGMENTS}) * length",
        "        for near in range(first, first + length, 8):",
        "            touched ^= table[near]",
        "    for t in range(at[1], len(buffers)):",
        "        buffer = buffers[t, part * room:(part + 1) * room]",
        "        n, stop = U(at[2]), sizes[t, part]",
        "        while n < stop:",
        "            if held + 64 > load:",
        "                at[0], at[1], at[2], at[3], at[4] = part, t, n, new, held",
        "                return False",
        "            end, left = min(n + U(64), stop), U(0)",
        "            # Without a branch first, so that cache misses overlap: most are in their slot already.",
        "            while n < end:",
        *(f"                {line}" for line in (*load, _slot(count), *differ)),
        "                places[left], rest[left] = slot, n",
        f"                left += U(not ({same}))",
        "                n += U(1)",
        "            for m in range(left):",
        "                n, slot = rest[m], places[m]",
        *(f"                {line}" for line in (*load, *differ)),
        f"                while not ({same}):",
        f"                    if {empty}:",
        *(f"                        table[slot + U({i})] = c{i}" for i in fields),
        *(f"                        fresh[new * U({count}) + U({i})] = c{i} ^ e{i}" for i in fields),
        "                        new += U(1)",
        "                        held += 1",
        "                        break",
        f"                    slot = U(0) if slot == last_slot else slot + U({count})",
        "            n = end",
        "        at[2] = 0",
        "    at[1] = 0",
        "at[3], at[4], at[5] = new, held, touched",
        "return True",
    ]


def _enlarge(count: int) -> list[str]:
    fields = range(count)
    empty = " & ".join(f"(table[slot + U({i})] == 0)" for i in fields)
    return [
        f"last_slot = U(table.size - {count})",
        f"slots = U(table.size // {count})",
        f"for n in range(U(0), U(old.size), U({count})):",
        *(f"    k{i} = old[n + U({i})]" for i in fields),
        f"    if {' | '.join(f'(k{i} != 0)' for i in fields)}:",
        "        c0 = k0 ^ initial[0]",
        f"        {_slot(count)}",
        f"        while not ({empty}):",
        f"            slot = U(0) if slot == last_slot else slot + U({count})",
        *(f"        table[slot + U({i})] = k{i}" for i in fields),
    ]


def _select(count: int) -> list[str]:
    fields = range(count)
    return [
        "made = U(k)",
        f"for n in range(U(0), U(states.size), U({count})):",
        *(f"    out[made * U({count}) + U({i})] = states[n + U({i})]" for i in fields),
        "    made += U((states[n] >= low) & (states[n] <= high))",
        "return int(made)",
    ]


def _sort(count: int) -> list[str]:
    """Return the source of a radix sort by bytes, lowest first, whose time does not depend on the states."""
    fields = range(count)
    return [
        f"size, counts, a, b = U(states.size // {count}), np.zeros((8, 256), np.uint64), states, spare",
        "for n in range(size):",
        f"    c0 = a[n * U({count})]",
        "    for byte in range(U(8)):",
        "        counts[byte, (c0 >> (U(8) * byte)) & U(255)] += U(1)",
        "for byte in range(U(8)):",
        "    if size and counts[byte, (a[0] >> (U(8) * byte)) & U(255)] < size:",
        "        start = U(0)",
        "        for value in range(U(256)):",
        "            start, counts[byte, value] = start + counts[byte, value], start",
        "        for n in range(size):",
        *(f"            c{i} = a[n * U({count}) + U({i})]" for i in fields),
        "            value = (c0 >> (U(8) * byte)) & U(255)",
        "            place = counts[byte, value]",
        "            counts[byte, value] = place + U(1)",
        *(f"            b[place * U({count}) + U({i})] = c{i}" for i in fields),
        "        a, b = b, a",
        *(_settle_ties(count) if count > 1 else ()),
        "return a",
    ]


def _settle_ties(count: int) -> list[str]:
    """Return the source that orders the few states with equal keys, comparing their other columns pair by pair."""
    less = "False"
    for i in reversed(range(1, count)):
        mine, other = f"a[at + U({i})]", f"a[at - U({count - i})]"
        less = f"({mine} < {other} or ({mine} == {other} and {less}))"
    return [
        "for n in range(U(1), size):",
        f"    at = n * U({count})",
        f"    while at > U(0) and a[at] == a[at - U({count})] and {less}:",
        *(
            f"        a[at + U({i})], a[at - U({count - i})] = a[at - U({count - i})], a[at + U({i})]"
            for i in range(count)
        ),
        f"        at -= U({count})",
    ]


def _function(head: str, lines: Sequence[str]) -> str:
    body = "\n    ".join(lines)
    return f"@numba.njit(cache=True, nogil=True)\ndef {head}:\n    {body}\n\n\n"
