"""Effects: assignments one after the other that do what those of an action do at once.

What an action assigns it computes from the state before.  In Murphi an assignment is seen by those after it.  A
variable is therefore assigned after those whose new values speak of it; where that is not possible, or an assignment of
a whole map reads that map elsewhere, the new value is computed first, under a name of its own.
"""

from collections.abc import Callable, Iterator, Sequence

from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term

Reads = Callable[[Term], set[str]]
"""The variables whose present value the text of a term speaks of."""


def ordered(updates: Sequence[Update], reads: Reads) -> list[tuple[Update, bool]]:
    """The assignments of an action in an order in which they may be made, each with whether its new value is to be
    computed first.  Those of one variable stay in their order, of which a later one wins."""
    found: list[tuple[Update, bool]] = []
    written: set[str] = set()
    waiting = {u.variable: [v for v in updates if v.variable == u.variable] for u in updates}
    while waiting:
        read = {n: _read(of, reads) for n, of in waiting.items()}
        free = (n for n in waiting if not any(n in seen for other, seen in read.items() if other != n))
        name = next(free, next(iter(waiting)))
        for n, update in enumerate(waiting.pop(name)):
            seen = _read([update], reads)
            before = seen & written or (n and name in seen)
            found.append((update, bool(before or (update.bound and not _in_place(update, reads)))))
        written.add(name)
    return found


def _read(updates: Sequence[Update], reads: Reads) -> set[str]:
    return {name for u in updates for root in (u.value, *u.keys) for name in reads(root)}


def _in_place(update: Update, reads: Reads) -> bool:
    """Does each new entry of a map depend on none of its old ones but that entry?"""
    if update.variable not in reads(update.value):
        return True
    names = [name for name, _ in update.bound]

    def elsewhere(node: Term) -> Iterator[Term]:
        """Readings of the map that are not of that entry."""
        if node.op == "select" and node.args[0].data[0] == update.variable:
            keys = [key.data if key.op == "local" else None for key in node.args[1:]]
            if keys != names:
                yield node
            return
        for part in node.args:
            yield from elsewhere(part)

    return next(elsewhere(update.value), None) is None
