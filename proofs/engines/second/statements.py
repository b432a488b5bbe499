"""This module writes obligations of an induction proof as SMT-LIB 2 texts, each of which any solver can read as it
stands.

A statement contains what Z3 was asked, with no more of the invariant than the proof used: the types, the axioms, the
lemmas before the step, the parameters and guards of the action, and the negation of the property afterwards. The
obligation is proved if the text is unsatisfiable. A text depends on the model and the obligation alone, so that it has
the same bytes in every process. It is made without Z3; `agreeing` has Z3 compare it with what it was asked.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action, Spec
from fencepost.model.language.tree.terms import FALSE, Term, subterms
from fencepost.proofs.engines.obligations import VACUITY, Obligation, consequences, invariant, steps
from fencepost.proofs.readings.smtlib.formulas import Formula, declarations, printed
from fencepost.proofs.readings.smtlib.reading import Moment, StateAfter, TextReading, ZeroState
from fencepost.proofs.readings.words import name_in_words, say_obligation
from fencepost.properties.catalogue import ProtocolEntry, Variant

Known = list[tuple[str, list[Formula]]]
"""These are formulas, in groups with a description each."""
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


def title_of(entry: ProtocolEntry, variant: Variant) -> str:
    return f"{entry.name}/{variant.name}"


def statements(
    spec: Spec, properties: Mapping[str, Property], obligations: Iterable[Obligation], title: str
) -> Iterator[Statement]:
    """Yield the text of each step of a proof of a settled protocol. ``title`` names the protocol and variant."""
    made: dict[tuple[bool, str], Asked] = {}  # the obligations of one action share most formulas
    for obligation in obligations:
        if is_stated(obligation):
            moment = (obligation.kind == "follows", obligation.action)
            if moment not in made:
                made = {moment: Asked(spec, obligation)}
            yield statement(made[moment], properties, obligation, title)


def used(of: Obligation) -> tuple[str, ...]:
    """Return the properties that a statement assumes before the step. A property whose variables the action does not
    write is preserved if the property itself is assumed."""
    return (of.property,) if of.how == "unchanged" else of.uses


class Asked:
    """An `Asked` has what is known of one moment, before anything of the invariant is assumed: of an initial state, of
    a state, or of a step of an action."""

    def __init__(self, spec: Spec, of: Obligation) -> None:
        self.reading = reading = TextReading(spec)
        self.action = spec.actions.get(of.action) if of.kind != "follows" else None
        before = Moment(reading.before)
        self.known: Known = [
            (f"the type of the constant {name}", reading.ranges(reading.constants[name], kind))
            for name, kind in spec.constants.items()
        ]
        self.known.append(("axioms", [reading.truth(axiom, before) for axiom in spec.axioms]))
        self.at = before
        if self.action is None and of.kind != "follows":
            self.at = Moment(StateAfter(reading, ZeroState(reading), spec.initial, {}))
            return
        self.known.append(
            ("the types of the variables", [known for name in spec.types for known in reading.types_of(name)])
        )
        if self.action is not None:
            self._step(self.action)

    def _step(self, action: Action) -> None:
        reading = self.reading
        names = reading.parameters(action)
        for name, kind in action.parameters:
            self.known.append((f"the type of the parameter {name}", reading.ranges(names[name], kind)))
        for guard in action.guards:
            words = f"a guard of {action.name}{f' [{guard.rule}]' if guard.rule else ''}"
            self.known.append((words, [reading.truth(guard.condition, Moment(reading.before, None, names))]))
        self.at = Moment(reading.before, StateAfter(reading, reading.before, action.updates, names), names)

    def assumed(self, term: Term) -> Formula:
        return self.reading.truth(term, Moment(self.reading.before))

    def claimed(self, term: Term) -> Formula:
        """Return the formula of a property after the step, or of the step where it has primed variables."""
        if any(node.op == "state" and node.data[1] for node in subterms(term)):
            return self.reading.truth(term, self.at)
        return self.reading.truth(term, Moment(self.at.after or self.at.now))


def statement(asked: Asked, properties: Mapping[str, Property], of: Obligation, title: str) -> Statement:
    """Return the text of one obligation, which is of the moment of ``asked``."""
    always, action, uses = invariant(properties), asked.action, used(of)
    known = [*asked.known]
    for name in uses:
        rule = properties[name].rule
        words = f"assumed before: {name_in_words(name)}{f' [{rule}]' if rule else ''}"
        known.append((words, [asked.assumed(always[name])]))
    known.append((_denied(of), [asked.reading.formulas.negated(asked.claimed(goal(of, properties)))]))
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


def goal(of: Obligation, properties: Mapping[str, Property]) -> Term:
    """Return what an obligation claims. Where a property states steps by which it was proved, that is the claim, which
    implies the property."""
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


def _text(head: Iterable[str], known: Known) -> Iterator[str]:
    for line in head:
        yield from _comment(line)
    yield "(set-info :smt-lib-version 2.6)"
    yield "(set-info :status unsat)"
    yield f"(set-logic {LOGIC})"
    yield from declarations(formula for _, formulas in known for formula in formulas)
    for words, formulas in known:
        if formulas:
            yield ""
            yield from _comment(words)
            yield from (f"(assert {printed(formula)})" for formula in formulas)
    yield ""
    yield "(check-sat)"


def _comment(text: str) -> list[str]:
    return wrap(" ".join(text.split()), WIDTH, initial_indent="; ", subsequent_indent=";   ", break_long_words=False)
