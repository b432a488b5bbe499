"""This module writes obligations of an induction proof as SMT-LIB 2 texts, each of which any solver can read as it
stands.

A statement contains what Z3 was asked, with no more of the invariant than the proof used: the types, the axioms, the
lemmas before the step, the parameters and guards of the action, and the negation of the property afterwards. The
obligation is proved if the text is unsatisfiable. A text depends on the obligation alone, so that it has the same bytes
in every process.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import z3
from fencepost.model.language.checks.errors import ModelError
from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import FALSE, Term
from fencepost.proofs.engines.induction import VACUITY, Obligation, consequences, invariant, steps
from fencepost.proofs.readings.solver.solving import RLIMIT, Question
from fencepost.proofs.readings.solver.terms import Reading
from fencepost.proofs.readings.words import name_in_words, say_obligation

LOGIC = "UFLIA"
"""The logic has quantifiers, uninterpreted sorts and functions, and linear integer arithmetic."""
WIDTH = 116


@dataclass(frozen=True)
class Statement:
    """A `Statement` is an obligation as a text. ``name`` is unique among those of a variant, and names a file.
    ``rules`` has the numbers of the action's rules and of the property's."""

    obligation: Obligation
    name: str
    says: str
    rules: tuple[str, ...]
    text: str


def is_stated(obligation: Obligation) -> bool:
    """Return whether the obligation is a step of a proof that was found. Obligations against vacuity ask for an
    existing state, and have no proof. Inherited ones were proved of a part."""
    return obligation.verdict == "holds" and obligation.kind not in (*VACUITY, "inherited")


Step = tuple[str, str, str]
"""A step of a proof is identified by its kind, action and property."""


def needed_steps(spec: Spec, properties: Mapping[str, Property]) -> set[Step]:
    """Return the steps that prove every property of a settled protocol by induction, whatever was proved of its parts:
    initial states satisfy each of the invariant, each action preserves it and obeys each step property, consequences
    follow from it, and what is declared dead never happens."""
    always, step = invariant(properties), steps(properties)
    first = [*always, *(name for name in step if properties[name].initially is not None)]
    of_actions = [
        (kind, action, name)
        for action in spec.actions
        for kind, names in (("preserved", always), ("step", step))
        for name in names
    ]
    dead = [("dead", name, "") for name, action in spec.actions.items() if action.dead is not None]
    follow = [("follows", "", name) for name in consequences(properties)]
    return {*(("initial", "init", name) for name in first), *of_actions, *follow, *dead}


def asserted(text: str) -> str:
    """Return what solvers read of a statement. Variants of a protocol have many statements that differ in comments."""
    return "\n".join(line for line in text.splitlines() if not line.startswith(";"))


def statements(
    spec: Spec, properties: Mapping[str, Property], obligations: Iterable[Obligation], title: str
) -> Iterator[Statement]:
    """Yield the text of each step of a proof of a settled protocol. ``title`` names the protocol and variant."""
    made: dict[tuple[bool, str], Recorded] = {}  # making a context of Z3 takes longer than most texts
    for obligation in obligations:
        if is_stated(obligation):
            moment = (obligation.kind == "follows", obligation.action)
            if moment not in made:
                made = {moment: question_of(spec, obligation)}
            yield statement(made[moment], properties, obligation, title)


class Renamed(Reading):
    """A `Renamed` reading uses names that no release of a solver has a meaning for. Z3 5.4, for example, reserved
    ``choice``, which is also a field of transactions. A name with an exclamation mark, which no name of a protocol has,
    is safe already."""

    def named(self, name: str) -> str:
        return name if "!" in name else f"{name}$"


class Recorded(Question):
    """A `Recorded` question records what it asserts, each part with its description."""

    reads = Renamed

    def __init__(self, spec: Spec, rlimit: int) -> None:
        self.known: list[tuple[str, list[Any]]] = []
        super().__init__(spec, rlimit)

    def _know(self, what: str, formulas: list[Any]) -> None:
        self.known.append((what, formulas))
        super()._know(what, formulas)


def statement(question: Recorded, properties: Mapping[str, Property], of: Obligation, title: str) -> Statement:
    """Return the text of one obligation. ``question`` is about the same moment, without any of the invariant."""
    always, action = invariant(properties), question.action
    # A property whose variables the action does not write is preserved if the property itself is assumed.
    uses = (of.property,) if of.how == "unchanged" else of.uses
    known = [*question.known]
    for name in uses:
        rule = properties[name].rule
        words = f"assumed before: {name_in_words(name)}{f' [{rule}]' if rule else ''}"
        known.append((words, [question.reading.truth(always[name], question.before)]))
    goal = question.claim(_goal(of, properties))
    known.append((_denied(of), [z3.Not(goal, question.reading.context)]))
    rules = _rules(action, properties.get(of.property))
    says = say_obligation(of)
    name = ".".join(part for part in (of.kind, of.action, of.property) if part)
    head = [
        f"{title}: {says}",
        *([f"{name_in_words(of.property)}: {properties[of.property].doc}"] if of.property else []),
        *([f"{name_in_words(action.name)}: {action.doc}"] if action is not None and action.doc else []),
        f"rules: {', '.join(rules) or 'none'}",
        f"lemmas used: {', '.join(map(name_in_words, uses)) or 'none'}",
    ]
    return Statement(of, name, says, rules, "\n".join(_text(head, known)) + "\n")


def question_of(spec: Spec, of: Obligation) -> Recorded:
    """Return the question of the moment that an obligation is about, before anything of the invariant is asserted."""
    if of.action in spec.actions:
        return Recorded.step(spec, spec.actions[of.action], (), RLIMIT)
    return Recorded.state(spec, (), RLIMIT) if of.kind == "follows" else Recorded.initial(spec, RLIMIT)


def _goal(of: Obligation, properties: Mapping[str, Property]) -> Term:
    if of.kind == "dead":
        return FALSE
    item = properties[of.property]
    if of.kind == "initial" and item.kind == "step":
        assert item.initially is not None
        return item.initially
    if of.how == "stated":
        stated = item.by_stated_steps(of.action)
        assert stated is not None
        return stated
    return item.term


def _denied(of: Obligation) -> str:
    if of.kind == "dead":
        return "nothing more is asked: that these hold together is what is to be refuted"
    when = {"initial": "at first", "preserved": "after the step", "step": "of the step", "follows": "of the state"}
    return f"to be refuted, {when[of.kind]}: not {name_in_words(of.property)}"


def _rules(action: Action | None, item: Property | None) -> tuple[str, ...]:
    of_action: tuple[str | None, ...] = ()
    if action is not None:
        of_action = (action.rule, *(g.rule for g in action.guards), *(u.rule for u in action.updates))
    of_item = () if item is None else (item.rule,)
    return tuple(dict.fromkeys(rule for rule in (*of_action, *of_item) if rule))


def _text(head: Iterable[str], known: Iterable[tuple[str, list[Any]]]) -> Iterator[str]:
    groups = [(words, formulas) for words, formulas in known if formulas]
    for line in head:
        yield from _comment(line)
    yield "(set-info :smt-lib-version 2.6)"
    yield "(set-info :status unsat)"
    yield f"(set-logic {LOGIC})"
    yield from _declarations([formula for _, formulas in groups for formula in formulas])
    for words, formulas in groups:
        yield ""
        yield from _comment(words)
        yield from (f"(assert {formula.sexpr()})" for formula in formulas)
    yield ""
    yield "(check-sat)"


def _comment(text: str) -> list[str]:
    return wrap(" ".join(text.split()), WIDTH, initial_indent="; ", subsequent_indent=";   ", break_long_words=False)


def _declarations(formulas: Iterable[Any]) -> Iterator[str]:
    """Yield sorts and functions in the order of their first use. Errors: ModelError if two functions have one name,
    which other solvers than Z3 refuse."""
    sorts: dict[str, None] = {}
    functions: dict[str, Any] = {}
    seen: set[int] = set()
    waiting = list(formulas)[::-1]
    while waiting:
        node = waiting.pop()
        if node.get_id() in seen:
            continue
        seen.add(node.get_id())
        if z3.is_quantifier(node):
            sorts |= dict.fromkeys(_declared(node.var_sort(n) for n in range(node.num_vars())))
            waiting.append(node.body())
        elif z3.is_app(node):
            made = node.decl()
            if made.kind() == z3.Z3_OP_UNINTERPRETED:
                if not functions.setdefault(made.name(), made).eq(made):
                    raise ModelError(f"two things are called {made.name()!r}, which SMT-LIB cannot tell apart")
                sorts |= dict.fromkeys(_declared((*(made.domain(n) for n in range(made.arity())), made.range())))
            waiting.extend(node.children()[::-1])
    yield from (f"(declare-sort {name} 0)" for name in sorts)
    yield from (made.sexpr() for made in functions.values())


def _declared(sorts: Iterable[Any]) -> list[str]:
    return [sort.sexpr() for sort in sorts if sort.kind() == z3.Z3_UNINTERPRETED_SORT]
