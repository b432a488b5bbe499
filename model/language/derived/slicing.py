"""Slicing removes the ghosts that no checked property reads, so that states differ only in what matters.

No rule reads a ghost, and so the protocol behaves the same without it.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace

from fencepost.model.language.properties import Property
from fencepost.model.language.specs import Spec
from fencepost.model.language.tree.terms import variables


def without_unread_ghosts(spec: Spec, properties: Iterable[Property]) -> Spec:
    """Return the protocol with only those ghosts that the properties read, or from which such ghosts are computed."""
    terms = [term for item in properties for term in item.terms]
    terms += [presence.term for presence in spec.presences.values()]
    unread = spec.ghosts - _made_of(spec, set().union(*map(variables, terms)))
    actions = {
        name: replace(a, updates=tuple(u for u in a.updates if u.variable not in unread))
        for name, a in spec.actions.items()
    }
    types = {name: kind for name, kind in spec.types.items() if name not in unread}
    initial = tuple(u for u in spec.initial if u.variable not in unread)
    return replace(spec, types=types, ghosts=spec.ghosts - unread, initial=initial, actions=actions)


def _made_of(spec: Spec, read: Collection[str]) -> set[str]:
    known, more = set[str](), set(read)
    updates = [u for action in spec.actions.values() for u in action.updates]
    while more - known:
        known |= more
        terms = [term for u in updates if u.variable in known for term in (u.value, *u.keys)]
        more = set().union(*map(variables, terms))
    return known
