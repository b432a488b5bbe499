"""This module checks that a traced method has sorted parameters, a condition, and no escaping bound variable."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from string import Formatter
from typing import Any

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.tracing.sources import line_of
from fencepost.model.language.tracing.symbols import Symbol, truth
from fencepost.model.language.tree.terms import Term, free_locals
from fencepost.model.language.tree.types import BOOL, AtomsType, MapType, Place, ScalarType, Type, scalar


def condition(value: Any, role: str, where: Place | None = None) -> Term:
    """Return the Bool term that a property returned."""
    if value is None:
        raise mistake(f"{role} returns nothing", "end it with `return <condition>`", where)
    if not isinstance(value, bool) and not (isinstance(value, Symbol) and value.term.type == BOOL):
        raise mistake(f"{role} returns {value!r}", "return a condition", where)
    return truth(value, role)


def sorted_parameters(body: Callable[..., Any], name: str, skip: int) -> tuple[tuple[str, ScalarType], ...]:
    """Return the names and sorts of a method's parameters after the first ``skip``, which stand for states."""
    found = []
    for p in list(inspect.signature(body, eval_str=True).parameters.values())[skip:]:
        if p.kind is not p.POSITIONAL_OR_KEYWORD or p.default is not p.empty:
            raise mistake(
                f"parameter {p.name} of {name} has a default or a star", f"write {p.name}: Broker", line_of(body)
            )
        if p.annotation is p.empty:
            raise mistake(f"parameter {p.name} of {name} has no sort", f"write {p.name}: Broker", line_of(body))
        found.append((p.name, scalar(p.annotation, f"parameter {p.name}", line_of(body))))
    return tuple(found)


def check_locals(known: AbstractSet[str], *roots: Term, where: Place) -> None:
    """Raise ModelError for a quantifier's variable that is used outside the quantifier's function."""
    for root in roots:
        if stray := free_locals(root) - known:
            name = min(stray).split(".", maxsplit=1)[0]
            raise mistake(
                f"{name} is used outside the function that it is an argument of", "quantify where it is used", where
            )


def check_headline(
    name: str, broken: str, parameters: Sequence[tuple[str, ScalarType]], root: Term, where: Place
) -> None:
    """Raise ModelError where a headline names what is no parameter, and no variable that has a value wherever the
    property fails."""
    known = {parameter for parameter, _ in parameters} | _decisive(root, False)
    try:
        named = {field for _, field, _, _ in Formatter().parse(broken) if field is not None}
    except ValueError as error:
        raise mistake(f"{name}: {error} in the headline", "write {t} for a variable t", where) from None
    if unknown := sorted(named - known):
        there = f"there are {', '.join(sorted(known))}" if known else "no quantifier decides its formula"
        raise mistake(f"the headline of {name} names {unknown[0]!r}, of which it may have no value", there, where)


def _decisive(root: Term, holds: bool) -> set[str]:
    """Return the variables of quantifiers of which some instance makes a term hold, or not, whenever it does so."""
    if root.op == "not":
        return _decisive(root.args[0], not holds)
    if root.op == ("exists" if holds else "forall"):
        return {name.split(".")[0] for name, _ in root.data} | _decisive(root.args[0], holds)
    if root.op in ("and", "or"):  # all parts, or one of them
        every = [_decisive(part, holds) for part in root.args]
        return set.union(*every) if root.op == ("and" if holds else "or") else set.intersection(*every)
    return set()


def keys_of(word: str, parameters: Sequence[tuple[str, ScalarType]], types: Mapping[str, Type]) -> list[str] | None:
    """Return the parameters at which a variable holds a member of a sort; None if the word is no such variable."""
    kind = types.get(word)
    if not (isinstance(kind, MapType) and isinstance(kind.value, AtomsType)):
        return None
    keys = [[name for name, mine in parameters if mine == key] for key in kind.keys]
    return [found[0] for found in keys] if all(len(found) == 1 for found in keys) else None


PASSIVE = frozenset(
    {
        "Call",
        "Connector",
        "Id",
        "Log",
        "Part",
        "Partition",
        "Prefix",
        "Record",
        "Request",
        "Send",
        "Task",
        "Txn",
        "Write",
    }
)
"""Members of these sorts take no step, unless `by` of an action names one. Members of any other sort, also of the
user's own protocol, do."""


def check_actor(
    action: str, word: str, parameters: Sequence[tuple[str, ScalarType]], types: Mapping[str, Type],
    actors: Sequence[str], where: Place,
) -> None:  # fmt: skip
    """Raise ModelError unless the word says who acts: see `Action`."""
    sorts = [name for name, kind in parameters if isinstance(kind, AtomsType)]
    held = [name for name in types if keys_of(name, parameters, types) is not None]
    if word not in (*sorts, *held, *actors):
        known = ", ".join((*sorts, *held, *actors)) or "none"
        what = (
            f"action {action} is by, or to, {word!r}, which is no parameter of a sort, no variable and no actor there"
        )
        raise mistake(what, f"there are {known}; actors = (...) of the protocol names others", where)
