"""This module has the functions in which guards, updates and properties are written, in addition to the operators of
symbols.

``require(x, rule=…)`` and ``s.x = …`` state what an action requires and does. ``rule("730.8")`` marks the updates that
encode a rule. ``either`` writes down, where a rule stands, what it might wrongly state instead, for the mutations that
test whether it is necessary.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from fencepost.model.language.checks.errors import mistake
from fencepost.model.language.tracing.recording import Recorder, current
from fencepost.model.language.tracing.symbols import Symbol, choose, coerce, truth
from fencepost.model.language.tree.terms import Term, boolean, term
from fencepost.model.language.tree.types import NAT, MapType, NumberType, ScalarType, SeqType, scalar

_depth = 0


def require(condition: Any, rule: str | None = None) -> None:
    """Enable the action only if this condition holds; each conjunct is reported and mutated on its own."""
    if isinstance(condition, bool):
        raise mistake(
            f"require({condition}) does not depend on the state", "compare variables or parameters, or leave it out"
        )
    current("require").guard(truth(condition, "require"), rule)


def limit(condition: Any) -> None:
    """Bound the exploration. A limit is not part of the protocol: proofs ignore it and mutations leave it unchanged."""
    current("limit").limit(truth(condition, "limit"))


def rule(number: str) -> AbstractContextManager[None]:
    """Mark the updates inside as encoding this rule, as in ``with rule("730.8"): s.next = …``."""
    recorder = current("rule")
    recorder.check_rule(number)
    return _marked(recorder, number)


@contextmanager
def _marked(recorder: Recorder, number: str) -> Iterator[None]:
    before, recorder.rule = recorder.rule, number
    try:
        yield
    finally:
        recorder.rule = before


def either(number: str, says: Any, **instead: Any) -> Symbol:
    """Return the value as rule ``number`` has it. The named alternatives are values that a misreading would give, as in
    ``either("730.15", end + 1, start=first)``."""
    Recorder.check_rule(number)
    symbols = [v for v in (says, *instead.values()) if isinstance(v, Symbol)]
    if not instead or not symbols:
        raise mistake("either() needs a symbol and at least one named alternative", "either(rule, value, name=other)")
    kind = symbols[0].term.type
    if isinstance(kind, NumberType):
        kind = NAT if not kind.signed else kind
    if isinstance(kind, MapType | SeqType):
        raise mistake("either() chooses between single values", "use it on the value of one entry")
    terms = tuple(coerce(v, kind, "an alternative") for v in (says, *instead.values()))
    return Symbol(term("choice", terms, (number, tuple(instead)), kind))


def when(condition: Any, then: Any, otherwise: Any) -> Symbol:
    """Return the expression that is ``then`` if the condition holds, else ``otherwise``."""
    return choose(condition, then, otherwise)


def implies(a: Any, b: Any) -> Symbol:
    """Return the condition that holds unless the first condition does and the second does not."""
    return Symbol(boolean("or", boolean("not", truth(a, "implies")), truth(b, "implies")))


def forall(*sorts_and_body: Any) -> Symbol:
    """Return the condition for all elements of the sorts, as in ``forall(Broker, Id, lambda b, i: …)``."""
    return _quantifier("forall", sorts_and_body)


def exists(*sorts_and_body: Any) -> Symbol:
    """Return the condition for some elements of the sorts, as in ``exists(Broker, lambda b: …)``."""
    return _quantifier("exists", sorts_and_body)


def _quantifier(op: str, sorts_and_body: tuple[Any, ...]) -> Symbol:
    *sorts, body = sorts_and_body
    if not sorts or not _is_function(body):
        raise mistake(f"{op} got no sorts or no function", f"write {op}(Broker, lambda b: ...)")
    names, result = abstract(body, [scalar(s) for s in sorts])
    return Symbol(term(op, (truth(result, op),), names, truth(True, op).type))


def _is_function(body: Any) -> bool:
    return callable(body) and not isinstance(body, type | Symbol)


def abstract(body: Callable[..., Any], kinds: list[ScalarType]) -> tuple[tuple[tuple[str, ScalarType], ...], Any]:
    """Call the function on fresh locals, named by their depth so that nested binders never clash."""
    global _depth  # noqa: PLW0603
    if not _is_function(body):
        raise mistake(f"{body!r} is no function", "write lambda x: ...")
    names = list(inspect.signature(body).parameters)
    if len(names) != len(kinds):
        sorts = ", ".join(map(str, kinds))
        raise mistake(
            f"the function takes ({', '.join(names)}) and is given ({sorts})", "let it take one argument per sort"
        )
    _depth += 1
    try:
        bound = tuple((f"{name}.{_depth}", kind) for name, kind in zip(names, kinds, strict=True))
        return bound, body(*(Symbol(term("local", (), name, kind)) for name, kind in bound))
    finally:
        _depth -= 1


class Each:
    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body


def each(body: Callable[..., Any]) -> Any:
    """Assign every entry of a map at once, from the old state, as in ``s.held = each(lambda b: False)``."""
    return Each(body)


def length(sequence: Symbol) -> Symbol:
    """Return the number of entries of a sequence."""
    return Symbol(term("length", (_read(sequence),), None, NAT))


def at(sequence: Symbol, position: Any) -> Symbol:
    """Return the entry at position 1 … length, or the zero value elsewhere."""
    node = _read(sequence)
    assert isinstance(node.type, SeqType)
    return Symbol(term("at", (node, coerce(position, NAT, "a position")), None, node.type.entry))


def latest(sequence: Symbol, body: Callable[[Any], Any], upto: Any = None) -> Symbol:
    """Return the highest position whose entry satisfies ``body``, among the first ``upto`` (default: all), else 0."""
    node = _read(sequence)
    assert isinstance(node.type, SeqType)
    bound, result = abstract(body, [node.type.entry])
    last = coerce(length(sequence) if upto is None else upto, NAT, "upto")
    return Symbol(term("latest", (node, last, truth(result, "latest")), bound[0], NAT))


def append(sequence: Symbol, value: Any) -> None:
    """Add one entry to the sequence."""
    node = _sequence(sequence)
    assert isinstance(node.type, SeqType)
    current("append").append(node.data[0], coerce(value, node.type.entry, "the entry appended"))


def _sequence(value: Any) -> Term:
    if not isinstance(value, Symbol) or not isinstance(value.term.type, SeqType):
        raise mistake(f"{value!r} is no sequence", 'declare the variable as Seq[entry, "bound"]')
    return value.term


def _read(sequence: Any) -> Term:
    node = _sequence(sequence)
    if sequence.recorder is not None:
        sequence.recorder.reading(node.data[0])
    return node
