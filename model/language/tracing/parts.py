"""This module offers parts to rules: ``s.ids.next`` is read, ``s.ids.hand_out(b)`` is taken, and no variable of a part
is assigned.

``ids: Part[Kraft]`` gives the composition every variable, constant, action, axiom, danger and budget of `Kraft`. An
action may take one action of each of several parts, all at once and from the old state. Actions named in
``part(joint=...)`` happen in no other way; all others also happen by themselves.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from fencepost.model.language.checks.errors import ModelError, caller, mistake, moved
from fencepost.model.language.checks.refusals import Helper, Refusals
from fencepost.model.language.specs import Call, Spec
from fencepost.model.language.tracing.composing import PartSpec, composed, scalars, sorts_of
from fencepost.model.language.tracing.recording import Recorder
from fencepost.model.language.tracing.symbols import Symbol, coerce
from fencepost.model.language.tree.terms import free_locals, local, substitute, variables
from fencepost.model.language.tree.types import (
    AtomsType,
    MapType,
    NumberType,
    Place,
    ScalarType,
    SeqType,
    Type,
    scalar,
)


@dataclass(frozen=True)
class PartOptions:
    joint: tuple[str, ...] = ()
    sorts: Mapping[Type, Type] = field(default_factory=dict)


def part(*, joint: Iterable[str] = (), sorts: Mapping[Any, Any] | None = None) -> Any:
    """Declare a part, with the actions that happen in joint steps only, and the sorts and numbers of the part that are
    identified with ones of the composition: ``part(joint=["hand_out"], sorts={Client: Instance})``."""
    if isinstance(joint, str):
        raise mistake(f"joint={joint!r} is one name", f"write joint=[{joint!r}]")
    found: dict[Type, Type] = {}
    for mine, there in (sorts or {}).items():
        a, b = scalar(mine, "a sort of the part"), scalar(there, "a sort of the whole")
        alike = isinstance(a, AtomsType) and isinstance(b, AtomsType | NumberType)
        if not alike and not (isinstance(a, NumberType) and isinstance(b, NumberType) and a.signed == b.signed):
            raise mistake(f"the part's {a} is to be {b}", "make a sort a sort or a number, and a number a number")
        found[a] = b
    return PartOptions(tuple(joint), found)


def check_parts(own: Spec, parts: Mapping[str, PartSpec], places: Mapping[str, Place]) -> None:
    """Raise ModelError unless joint actions are taken, no two sorts share a name, and identified sorts exist."""
    for p in parts.values():
        where = places[p.name]
        for name in p.joint:
            if name not in p.own.actions:
                has = ", ".join(p.own.actions)
                raise mistake(f"{p.name} has no action {name!r} to be taken in joint steps", f"it has {has}", where)
            if not any((c.part, c.action) == (p.name, name) for a in own.actions.values() for c in a.calls):
                what = f"{p.path(name)} is for joint steps only, and is in none"
                instead = f"call s.{p.name}.{name}(...) in an action, or leave it out of joint= to let it happen alone"
                raise mistake(what, instead, where)
        there = [*sorts_of(p.own), *_numbers_of(p.own)]
        for kind in p.sorts:
            if kind not in there:
                has = ", ".join(dict.fromkeys(str(k) for k in there))
                raise mistake(f"{p.name} has no {kind} to be another", f"it has {has}", where)
    _check_sorts(own, parts, places)


def _check_sorts(own: Spec, parts: Mapping[str, PartSpec], places: Mapping[str, Place]) -> None:
    """Raise ModelError if two classes of sorts have one name, unless the composition renames one or identifies them.
    Two parts that name one class share its elements."""
    known: dict[str, AtomsType] = {k.name: k for k in sorts_of(own) if isinstance(k, AtomsType)}
    for p in parts.values():
        alone = composed(Spec(own.name, "", {}, frozenset(), {}, (), (), {}), {p.name: p})
        for kind in sorts_of(alone):
            if isinstance(kind, AtomsType) and known.setdefault(kind.name, kind) is not kind:
                other = known[kind.name]
                sizes = f", with the bounds {other.bound} and {kind.bound}" if other.bound != kind.bound else ""
                what = f"{p.name} has a sort {kind.name}, which is another than the {kind.name} declared elsewhere"
                instead = f"say that they are one: part(sorts={{{kind.name}: the other {kind.name}}}), or rename one"
                raise mistake(f"{what}{sizes}", instead, places[p.name])


def _numbers_of(spec: Spec) -> list[NumberType]:
    kinds: list[Type] = [*spec.types.values(), *(k for a in spec.actions.values() for _, k in a.parameters)]
    return [k for kind in kinds for k in scalars(kind) if isinstance(k, NumberType)]


class PartProxy(Refusals):
    """A `PartProxy` is ``s.ids``: it offers the part's variables and helpers to read and its actions to take. What is
    read is traced in the part's own names and then renamed, so that a helper does not depend on the part's path."""

    def __init__(
        self, inner: Any, given: PartSpec, recorder: Recorder | None, effects: Recorder, path: str = ""
    ) -> None:
        held = {"_inner": inner, "_part": given, "_recorder": recorder, "_effects": effects, "_path": path}
        for name, value in held.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<part {self._part.name}>"

    def refuse(self, what: str, instead: str) -> NoReturn:
        name = f"{self._part.name}.{self._path}".rstrip(".")
        raise mistake(f"the part {name} is used as a value", f"read a variable of it: s.{name}.variable")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python itself asks for these, and takes no for an answer
            raise AttributeError(name)
        given, recorder, full = self._part, self._recorder, self._path + name
        if full in given.own.actions:
            return Helper(given.path(full), lambda _, *arguments: take(given, full, arguments, recorder), None)
        value = getattr(self._inner, name)
        if isinstance(value, PartProxy):
            return PartProxy(value, given, recorder, self._effects, f"{full}.")
        if isinstance(value, Helper):
            return Helper(given.path(full), lambda _, *arguments: self._asked(value, arguments), None)
        return self._renamed(value, {})

    def __setattr__(self, name: str, value: Any) -> None:
        part = self._part.name
        what = f"{self._part.path(self._path + name)} is assigned outside its part"
        raise mistake(what, f"take an action of the part: s.{part}.action(...)")

    def _asked(self, helper: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Return a helper's result, with the placeholders of the part's own types replaced by the arguments."""
        given, inside = {}, []
        for number, value in enumerate(arguments):
            if not isinstance(value, Symbol):
                inside.append(value)
                continue
            given[f"argument{number}"] = value.term
            kind: ScalarType = value.term.type  # type: ignore[assignment]
            inside.append(Symbol(local(f"argument{number}", self._part.type_within(kind))))
        with self._effects as effects:
            try:
                result = helper(*inside)
            except ModelError as error:
                raise moved(error, caller()) from None
        if effects.guards or effects.limits or effects.updates or effects.calls or result is None:
            what = f"a helper of the part {self._part.name} that changes or requires something is called from outside"
            raise mistake(what, f"take an action of the part: s.{self._part.name}.action(...)")
        return self._renamed(result, given) if isinstance(result, Symbol) else result

    def _renamed(self, symbol: Symbol, given: dict[str, Any]) -> Symbol:
        found = substitute(self._part.term(symbol.term), given)
        if self._recorder is not None and not (found.op == "state" and isinstance(found.type, MapType | SeqType)):
            for name in variables(found):
                self._recorder.reading(name)
        return Symbol(found, self._recorder)


def take(given: PartSpec, name: str, arguments: tuple[Any, ...], recorder: Recorder | None) -> None:
    """Add an action of a part to the action that is being traced."""
    place = given.path(name)
    if recorder is None:
        raise mistake(f"{place} is taken outside an action", "properties, axioms and helpers of a part only read")
    if any(c.part == given.name for c in recorder.calls):
        raise mistake(f"{given.name} takes two steps in one action", "a joint step takes one action of each part")
    action = given.action(given.own.actions[name])
    if len(arguments) != len(action.parameters):
        needs = ", ".join(f"{n}: {k}" for n, k in action.parameters)
        raise mistake(f"{place} is given {len(arguments)} arguments", f"it takes ({needs})")
    terms = tuple(coerce(v, k, f"{n} of {place}") for v, (n, k) in zip(arguments, action.parameters, strict=True))
    if any("." in n for t in terms for n in free_locals(t)):
        raise mistake(f"{place} is taken within a quantifier", "an action takes it once")
    if hidden := {v for t in terms for v in variables(t)} & recorder.ghosts:
        raise mistake(
            f"{place} is given the ghost {min(hidden)}", "no rule may depend on ghosts, which are for properties"
        )
    recorder.calls.append(Call(given.name, name, terms))
    recorder.assigned |= {u.variable for u in action.updates}
