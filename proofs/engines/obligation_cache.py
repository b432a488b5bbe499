"""This module caches proof steps of earlier runs, each group under a hash of everything that Z3 was asked.

A group is what one `Question` is asked: initial states, states of the invariant, or the steps of one action. The hash
of a group covers the axioms, the types, the assumed invariant, the action, what is claimed after it, Z3's release and
limit, and the source text of the code that asks. So an edit of one rule has only the steps of that action proved again.
A group is stored only if all of it holds.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tracing.recording import Update
from fencepost.model.language.tree.terms import Term
from fencepost.proofs.cache_folder import cache_folder, keeps_verdicts, now, takes_verdicts

if TYPE_CHECKING:
    from fencepost.proofs.engines.obligations import Obligation


ASKING = (
    "proofs/engines/induction.py", "proofs/engines/obligations.py", "proofs/engines/obligation_cache.py",
    "proofs/readings/solver", "proofs/results.py", "model/language/tree",
)  # fmt: skip
"""The hash covers these files, which ask Z3, or define the terms and verdicts."""


@dataclass
class CachedSteps:
    """A `CachedSteps` has, by hash, the obligations of a group as JSON, when they were proved, and which antecedents
    were met. ``used`` has the groups of this run, which are written."""

    file: Path
    spec: Spec
    rlimit: int
    groups: dict[str, Any] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)
    _digests: dict[Term, str] = field(default_factory=dict)
    _frame: str = ""

    @classmethod
    def of(cls, name: str, spec: Spec, rlimit: int, *, fresh: bool = False) -> "CachedSteps | None":
        """Return the steps of a variant of this name, or None where nothing may be stored. With ``fresh``, none of them
        come from earlier runs."""
        if not keeps_verdicts():
            return None
        file = cache_folder() / "steps" / f"{name.replace('/', '-')}.json"
        try:
            groups = json.loads(file.read_text(encoding="utf-8")) if takes_verdicts() and not fresh else {}
        except (OSError, ValueError, RecursionError):
            groups = {}
        return cls(file, spec, rlimit, groups if isinstance(groups, dict) else {})

    def write(self) -> None:
        """Write the groups of obligations that this run used. Nothing is stored where the folder cannot be written."""
        draft = self.file.with_suffix(f".{os.getpid()}")
        try:
            draft.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(json.dumps(self.used), encoding="utf-8")
            draft.replace(self.file)
        except OSError:
            return

    def group(
        self, kind: str, action: Action | None, always: Mapping[str, Term], asked: Iterable[tuple[str, str, Term]],
        search: "Search", made: Callable[[], Iterator["Obligation"]],
    ) -> Iterator["Obligation"]:  # fmt: skip
        """Yield the obligations of a group, read from an earlier run or ``made``. ``asked`` has what is claimed, as
        kind, name and term. ``search`` has the antecedents that are still to be met, some of which a group may meet."""
        key = self._key(kind, action, always, asked, search)
        stored = self._read(key)
        if stored is not None and search.meet(stored[1], self.digest):
            self.used[key] = self.groups[key]
            yield from stored[0]
            return
        found, before = [], len(search.met)
        for obligation in made():
            found.append(obligation)
            yield obligation
        if all(o.verdict == "holds" for o in found):
            self.used[key] = {
                "when": now(),
                "met": [[name, self.digest(term)] for name, term in search.met[before:]],
                "obligations": [
                    [o.kind, o.action, o.property, round(o.seconds, 4), o.how, list(o.uses)] for o in found
                ],
            }

    def _read(self, key: str) -> "tuple[list[Obligation], list[tuple[str, str]]] | None":
        from fencepost.proofs.engines.obligations import Obligation  # imported late, since it calls this module

        try:
            group = self.groups[key]
            obligations = [
                Obligation(kind, action, name, "holds", seconds, how, tuple(uses), cached=str(group["when"]))
                for kind, action, name, seconds, how, uses in group["obligations"]
            ]
            return obligations, [(str(name), str(digest)) for name, digest in group["met"]]
        except (KeyError, TypeError, ValueError):
            return None

    def _key(
        self, kind: str, action: Action | None, always: Mapping[str, Term], asked: Iterable[tuple[str, str, Term]],
        search: "Search",
    ) -> str:  # fmt: skip
        parts = [_engine(), str(self.rlimit), self._of_frame(), kind]
        parts += [f"{name} {self.digest(term)}" for name, term in always.items()]
        parts += [f"{sort} {name} {self.digest(term)}" for sort, name, term in asked]
        parts += [f"wanted {name} {self.digest(term)}" for name, term in search.wanted]
        if action is not None:
            parts += [action.name, repr(action.parameters), repr(action.dead is None)]
            parts += [f"require {self.digest(g.condition)}" for g in action.guards]
            parts += [self._update(u) for u in action.updates]
        else:
            parts += [self._update(u) for u in self.spec.initial]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _update(self, u: Update) -> str:
        return f"{u.variable} {[self.digest(k) for k in u.keys]} {u.bound!r} {u.appends} {self.digest(u.value)}"

    def _of_frame(self) -> str:
        if not self._frame:
            spec = self.spec
            kinds = [f"{name}: {kind!r}" for name, kind in (*spec.types.items(), *spec.constants.items())]
            axioms = [self.digest(axiom) for axiom in spec.axioms]
            self._frame = hashlib.sha256("\0".join([*kinds, *axioms]).encode()).hexdigest()
        return self._frame

    def digest(self, term: Term) -> str:
        """Return a hash of a term's structure. Terms are shared, so that each is hashed once."""
        if term not in self._digests:
            args = [self.digest(arg) for arg in term.args]
            text = f"{term.op} {term.data!r} {term.type!r} {args}"
            self._digests[term] = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self._digests[term]


@dataclass
class Search:
    """A `Search` has the antecedents of step properties, each of which some action has to satisfy. ``wanted`` has those
    still open, and ``met`` those satisfied, in that order in time."""

    wanted: list[tuple[str, Term]]
    met: list[tuple[str, Term]] = field(default_factory=list)

    def meet(self, digests: Sequence[tuple[str, str]], digest: Callable[[Term], str]) -> bool:
        """Mark antecedents as met, or do nothing if one of them is not wanted."""
        by_digest = {(name, digest(term)): (name, term) for name, term in self.wanted}
        known = by_digest.keys() >= set(digests)
        for reported in digests if known else ():
            self.found(by_digest[reported])
        return known

    def found(self, one: tuple[str, Term]) -> None:
        self.wanted.remove(one)
        self.met.append(one)


def since(obligations: Iterable["Obligation"]) -> str | None:
    """Return when the oldest of these obligations was proved, or None if one was proved in this run."""
    dates = [o.cached for o in obligations]
    cached = [date for date in dates if date is not None]
    return min(cached) if cached and len(cached) == len(dates) else None


@cache
def _engine() -> str:
    here = Path(__file__).parents[2]
    hashed = hashlib.sha256(version("z3-solver").encode())
    for name in ASKING:
        place = here / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            hashed.update(path.read_bytes())
    return hashed.hexdigest()
