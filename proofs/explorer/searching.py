"""This module runs the searches that the page asks for, each in its own thread: a shortest run that breaks a promise,
its distance from here, another run, or an endless one. One search runs at a time, reports its progress, and can be
given up."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.derived.slicing import without_unread_ghosts
from fencepost.model.language.properties import Property
from fencepost.model.language.specs import Spec
from fencepost.model.language.tracing.recording import Guard
from fencepost.model.language.tree.terms import negation
from fencepost.proofs.explorer.choices import written
from fencepost.proofs.explorer.session import PROMISED, NoSuchRun, Place, Session, changes
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.results import Event, Trace
from fencepost.properties.catalogue import CatalogueError, changed
from fencepost.properties.nearest import quantity

MORE = 4
"""Another run may be this many steps longer, before one is looked for that goes without some action."""
LOOKED_AT = 500
"""This many runs of one length are compared with the known ones."""
Reporter = Callable[[str], None]
Answer = dict[str, Any]
"""An answer describes a result in ``says``, with ``path``, ``loop`` and ``place`` if there is a run to go to."""


class GivenUp(Exception):
    """This error ends a search that is not wanted any more."""


@dataclass
class Search:
    """A `Search` has ``progress`` while it runs, and ``answer`` or ``error`` in one sentence afterwards."""

    number: int
    progress: str = "the model is being prepared"
    answer: Answer | None = None
    error: str | None = None
    given_up: threading.Event = field(default_factory=threading.Event)

    def report(self, words: str) -> None:
        """Set the progress of the search. Errors: GivenUp if the browser does not want it any more."""
        if self.given_up.is_set():
            raise GivenUp
        self.progress = words

    def as_dict(self) -> dict[str, Any]:
        running = self.answer is None and self.error is None
        return {
            "search": self.number, "running": running, "progress": self.progress, "answer": self.answer,
            "error": self.error,
        }  # fmt: skip


class Searches:
    """A `Searches` has the search under way, or the last one that is over."""

    def __init__(self) -> None:
        self._count, self._now = 0, Search(0, answer={"says": ""})

    def begin(self, work: Callable[[Reporter], Answer]) -> Search:
        """Give up the current search, and begin another."""
        self.give_up(self._now.number)
        self._count += 1
        self._now = search = Search(self._count)
        threading.Thread(target=_work, args=(search, work), daemon=True).start()
        return search

    def get(self, number: int) -> Search:
        """Return the search with a number. Errors: InputError if another one has taken its place."""
        if number != self._now.number:
            raise InputError(f"search {number} is over, and another one has taken its place")
        return self._now

    def give_up(self, number: int) -> None:
        """End a search when it reaches its next level of states."""
        search = self.get(number)
        search.given_up.set()
        if search.answer is None:
            search.error = search.error or "the search was given up"


def _work(search: Search, work: Callable[[Reporter], Answer]) -> None:
    try:
        answer = work(search.report)
        if not search.given_up.is_set():
            search.answer = answer
    except GivenUp:
        pass
    except (InputError, MemoryError) as error:
        search.error = str(error) or "memory ended; choose smaller bounds"
    except Exception as error:  # report mistakes in the code on the page
        search.error = f"this is a mistake in the code, and no verdict: {type(error).__name__}: {error}"


def asked_of(session: Session, name: str | None) -> dict[str, Property]:
    """Return the property of that name, or, without one, everything that must not break on any run."""
    if name is None:
        return {n: p for n, p in session.properties.items() if p.role in PROMISED}
    if name not in session.properties:
        raise CatalogueError(f"{session.variant.name} is not asked for a property {name[:80]!r}")
    return {name: session.properties[name]}


def shortest(session: Session, name: str | None, most: int, report: Reporter, avoided: Collection[str] = ()) -> Answer:
    """Return a shortest run that breaks a property, or any promise, or reaches a witness, with the fewest switches
    between processes. With ``avoided``, the run has no step of these actions."""
    from fencepost.proofs.engines.explore.fewest_switches import fewest_switches
    from fencepost.proofs.pages.stories import lane_of

    asked = asked_of(session, name)
    if not asked:
        return {"says": "There is no promise of this variant that a run could break."}
    if [p.kind for p in asked.values()] == ["eventually"]:
        return endless(session, next(iter(asked)), most, report)
    known = ", ".join(map(name_in_words, avoided))
    made, found = _explored(session, _avoiding(session.spec, avoided), asked, most, report)
    if found is None:
        of = f", of runs without {known}" if avoided else ""
        return {"says": _nothing(made, asked, of), "undecided": not made.complete}
    prop, trace = found
    report("of the shortest runs, the one that is easiest to read")
    chosen = fewest_switches(made, prop, lambda event: lane_of(session.spec.actions[event.action], event))
    with suppress(NoSuchRun):  # a run may leave the bounds by a ghost that the search left out
        trace = trace if chosen is None else session.run(_written(chosen.trace.events))
    broken = f"{_quoted(prop.name)} is {'reached' if prop.kind == 'sometimes' else 'broken'}"
    fewer = f"and not in fewer without {known}" if avoided else "and not in fewer"
    says = f"{broken} after {_steps(len(trace))}, {fewer}."
    return {"says": says, "path": _written(trace.events), "property": prop.name}


def another(session: Session, name: str, known: Sequence[str], most: int, report: Reporter) -> Answer:
    """Return a run that breaks the same property in another way, so that it is not one of the ``known`` paths in
    another order, or with further steps. Where there is none within a few more steps, look for one that has no step of
    some action."""
    [prop] = asked_of(session, name).values()
    paths = [session.run(path) for path in known]
    ways = [Counter(event.action for event in trace.events) for trace in paths]
    if prop.kind in ("always", "sometimes"):
        for events in _ends(session, prop, min(map(len, paths)), most, report):
            way = Counter(event.action for event in events)
            if not any(other <= way for other in ways):
                end = "reached" if prop.kind == "sometimes" else "broken"
                longer = "It is as short" if len(events) == len(paths[0]) else "It is longer"
                says = f"Another run, with other steps: {_quoted(name)} is {end} after {_steps(len(events))}."
                return {"says": f"{says} {longer}.", "path": _written(events), "property": name}
    undecided = False
    for action in dict.fromkeys(event.action for event in reversed(paths[-1].events)):
        report(f"runs without {name_in_words(action)}")
        answer = shortest(session, name, most, report, [action])
        if "path" in answer and not any(other <= _way(session, answer["path"]) for other in ways):
            return answer | {"says": f"Another run, which may be longer: {answer['says']}"}
        undecided = undecided or bool(answer.get("undecided"))
    if undecided:
        return {"says": f"No other was found, and it is not decided: some searches were stopped at {most:,} states."}
    looked = f"among the shortest runs to the states in which it is broken, up to {MORE} steps more"
    return {"says": f"No other was found {looked}; and none goes without an action of this one."}


def _way(session: Session, path: str) -> Counter[str]:
    return Counter(event.action for event in session.run(path).events)


def _ends(session: Session, prop: Property, least: int, most: int, report: Reporter) -> Iterator[tuple[Event, ...]]:
    """Yield runs that break a property at their last step, one to each such state, the shortest first."""
    from fencepost.proofs.engines.explore import explore, sets
    from fencepost.proofs.engines.explore.emit import conditions
    from fencepost.proofs.engines.explore.traces import runs_to

    looked_for = _not_reached(prop) if prop.kind == "sometimes" else prop
    unbroken = Guard(looked_for.term, None, ("", 0))
    actions = {n: replace(a, guards=(*a.guards, unbroken)) for n, a in session.spec.actions.items()}
    made = explore(
        replace(session.spec, actions=actions), {prop.name: looked_for}, session.bounds, max_states=most,
        max_depth=least + MORE, progress=lambda level: report(_level(level)),
    )  # fmt: skip
    kernels = made.kernels
    read = conditions(kernels.packing, [kernels.ground.always[prop.name]])
    for depth, level in enumerate(made.states):
        rows = (~np.asarray(read(sets.to_words(level))[0], np.bool_)).nonzero()[0] if depth >= least else ()
        if len(rows):
            report(f"{len(rows):,} states in which it is broken, {_steps(depth)} deep")
            yield from runs_to(kernels, made.states, [(depth, int(row)) for row in rows[:LOOKED_AT]])


def how_far(session: Session, path: str, most: int, report: Reporter) -> Answer:
    """Return, from the end of a path, how many steps it takes to break each promise."""
    from fencepost.proofs.engines.explore import Start, explore

    trace, asked = session.run(path), asked_of(session, None)
    start = Start(trace.states[-1], session.spent(trace.events))
    made = explore(
        session.spec, asked, session.bounds, max_states=most, stop_when_violated="all", start=start,
        progress=lambda level: report(_level(level)),
    )  # fmt: skip
    depth = made.depth - 1
    everything = f"none of the {made.distinct:,} states that can follow breaks it"
    so_far = f"not within {_steps(depth)}: none of the {made.distinct:,} states explored from here"
    far = {
        name: {"steps": made.traces.steps(name), "path": _written((*trace.events, *made.traces[name].events))}
        if name in made.traces
        else {"says": everything if made.complete else so_far}
        for name in asked
    }
    return {"says": "How far each promise is from being broken stands beside it.", "far": far}


def endless(session: Session, name: str, most: int, report: Reporter) -> Answer:
    """Return a run that goes on for ever without fulfilling the progress property, within the property's bounds."""
    from fencepost.proofs.engines.explore import explore
    from fencepost.proofs.engines.progress import check_progress

    asked = asked_of(session, name)
    small = session.variant.progress_bounds
    own = [{n: size for n, size in session.place.bounds if n in some} for some in small]
    tried = [changed(session.variant, *each) for each in zip(small, own, strict=True)] or [session.bounds]
    limited = None
    for bounds in tried:
        made = explore(
            session.spec, asked, bounds, max_states=most, progress=lambda level: report(_level(level))
        )  # fmt: skip
        report(f"cycles among {made.distinct:,} states")
        result = check_progress(made)[name]
        if result.trace is not None:
            place = replace(session.place, bounds=changes(session.variant, bounds))
            return _lasso(name, result.trace, place, place.bounds != session.place.bounds)
        limited = limited or (made.stopped if not made.complete else None)
    if limited:
        return {"says": f"It is not decided: the search was stopped ({limited}). Choose smaller bounds."}
    return {"says": f"{_quoted(name)} holds: within these bounds no run goes on for ever without it."}


def _lasso(name: str, trace: Trace, place: Place, moved: bool) -> Answer:
    other = " (within the bounds that progress is judged in, which are chosen now)" if moved else ""
    stays = "and so it stays, as nothing that could still happen has to"
    again = stays if trace.loop == len(trace) else f"from here again as after step {trace.loop}"
    return {
        "says": f"{_quoted(name)} does not come: after {_steps(len(trace))}, {again}, for ever{other}.",
        "path": _written(trace.events), "loop": trace.loop, "property": name,
        "place": {"name": place.name, "without": place.without, "bounds": dict(place.bounds)},
    }  # fmt: skip


def _explored(
    session: Session, spec: Spec, asked: Mapping[str, Property], most: int, report: Reporter
) -> tuple[Any, tuple[Property, Trace] | None]:
    """Return the search and what it found first. The search leaves out ghost variables that no requested property
    reads, and is repeated with these where a run leaves the bounds by one of them."""
    from fencepost.proofs.engines.explore import explore

    looked_for = {n: _not_reached(p) if p.kind == "sometimes" else p for n, p in asked.items()}
    for sliced in (without_unread_ghosts(spec, asked.values()), spec):
        made = explore(
            sliced, looked_for, session.bounds, max_states=most, stop_when_violated=True,
            progress=lambda level: report(_level(level)),
        )  # fmt: skip
        found = next((n for n in asked if n in made.traces), None)
        if found is None:
            return made, None
        try:
            return made, (asked[found], session.run(_written(made.traces[found].events)))
        except NoSuchRun:
            continue
    raise AssertionError("the search has found a run that the model does not have")


def _not_reached(witness: Property) -> Property:
    return replace(witness, role="lemma", terms=(negation(witness.term),))


def _avoiding(spec: Spec, avoided: Collection[str]) -> Spec:
    return replace(spec, actions={n: a for n, a in spec.actions.items() if n not in avoided})


def _nothing(made: Any, asked: Mapping[str, Property], of: str) -> str:
    what = _quoted(next(iter(asked))) if len(asked) == 1 else f"any of the {len(asked)} promises"
    if not made.complete:
        depth = _steps(made.depth - 1)
        return (
            f"It is not decided: none of {made.distinct:,} states, all that {depth}{of} can reach, decides {what}, and "
            f"there are more ({made.stopped}). Choose smaller bounds."
        )
    if [p.kind for p in asked.values()] == ["sometimes"]:
        return f"{what} is not reached in any of the {made.distinct:,} states within these bounds{of}."
    return f"No run breaks {what}: all {made.distinct:,} states within these bounds{of} were visited."


def _quoted(name: str) -> str:
    return f"“{name_in_words(name)}”"


def _written(events: Collection[Event]) -> str:
    return ";".join(map(written, events))


def _level(level: Any) -> str:
    return f"{_steps(level.depth - 1)} deep, {level.distinct:,} states"


def _steps(count: int) -> str:
    return quantity(count, "step")
