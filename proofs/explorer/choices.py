"""This module finds which steps are possible in a state, and why others are not, by the first condition that is false,
in words and with the rule that it encodes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.model.language.properties import Property
from fencepost.model.language.protocol import Action
from fencepost.model.language.tree.terms import Term
from fencepost.model.rules import RULES
from fencepost.proofs.pages.stories import one_line
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.readings.words import (
    differences,
    first_sentence,
    name_in_words,
    parameters_in_words,
    say,
    say_value,
)
from fencepost.proofs.results import Event, State

FEW = 6
"""This many parameter choices are reported for one reason."""
MANY = 60
"""This many possible steps of one action are listed."""
COMPARED = ("eq", "lt", "le")


def written(event: Event) -> str:
    """Return a step as a link contains it: ``begin(c=0,t=1)``."""
    values = ",".join(f"{name}={_written(value)}" for name, value in event.parameters.items())
    return f"{event.action}({values})"


def _written(value: Any) -> str:
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(int(value))


@dataclass(frozen=True)
class Reason:
    """A `Reason` is why a step is not possible. ``bound`` is true if only the bounds exclude the step."""

    says: str
    rule: str = ""
    bound: bool = False

    def __str__(self) -> str:
        if self.bound:
            return f"it lies beyond the bounds, {self.says}"
        return f"it needs {self.says}{f' [{self.rule}]' if self.rule else ''}"


class Choices:
    """A `Choices` judges the steps of a protocol within bounds, in one state after another."""

    def __init__(self, plain: Plain) -> None:
        self.plain, self.spec = plain, plain.spec
        self._by_text: dict[str, dict[str, Event]] = {}

    def by_text(self, action: str) -> Mapping[str, Event]:
        if action not in self._by_text:
            self._by_text[action] = {written(event): event for event in self.plain.events(action)}
        return self._by_text[action]

    def why_not(self, state: State, event: Event, spent: Mapping[str, int]) -> Reason | None:
        reason = self._refused(state, event, spent)
        return reason and reason[0]

    def _refused(self, state: State, event: Event, spent: Mapping[str, int]) -> tuple[Reason, Term | None] | None:
        action = self.spec.actions[event.action]
        if not self.plain.enabled(state, event):
            for guard in action.guards:
                if not self.plain.evaluate(guard.condition, state, None, **event.parameters):
                    return Reason(say(guard.condition), guard.rule or ""), guard.condition
            for limit in action.limits:
                if not self.plain.evaluate(limit, state, None, **event.parameters):
                    return Reason(f"which keep to {say(limit)}", bound=True), limit
        if action.budget is not None and spent.get(action.budget, 0) >= self.plain.bounds[action.budget]:  # type: ignore[index]
            most = self.plain.bounds[action.budget]  # type: ignore[index]
            return Reason(f"which have {most} {name_in_words(action.budget)}", bound=True), None
        if self.plain.step(state, event) is None:
            return Reason("since what it assigns has no room in them", bound=True), None
        return None

    def at(self, state: State, spent: Mapping[str, int], holding: Sequence[Property]) -> dict[str, Any]:
        """Return ``possible`` and ``impossible`` steps by action. ``holding`` has promises that a step might break."""
        possible, impossible = list[dict[str, Any]](), list[dict[str, Any]]()
        for action in self.spec.actions.values():
            allowed, refused = list[Event](), list[tuple[Event, Reason, Term | None]]()
            for event in self.plain.events(action.name):
                why = self._refused(state, event, spent)
                if why is None:
                    allowed.append(event)
                else:
                    refused.append((event, *why))
            if allowed:
                steps = [self._step(state, event, holding) for event in allowed[:MANY]]
                possible.append(_named(action) | {"steps": steps, "more": max(0, len(allowed) - MANY)})
            if refused:
                impossible.append(_named(action) | {"reasons": list(self._reasons(state, action, refused))})
        return {"possible": possible, "impossible": impossible}

    def _step(self, state: State, event: Event, holding: Sequence[Property]) -> dict[str, Any]:
        after = self.plain.step(state, event)
        assert after is not None
        breaks = [name_in_words(p.name) for p in holding if self._breaks(p, state, after)]
        changes = [line for line in differences(self.spec, state, after) if _variable(line) not in self.spec.ghosts]
        words = parameters_in_words(self.spec.actions[event.action], event)
        return {"step": written(event), "words": words, "changes": changes, "breaks": breaks}

    def _breaks(self, one: Property, state: State, after: State) -> bool:
        return not (self.plain.holds(one, state, after) if one.kind == "step" else self.plain.holds(one, after))

    def _reasons(
        self, state: State, action: Action, refused: Iterable[tuple[Event, Reason, Term | None]]
    ) -> Iterator[dict[str, Any]]:
        grouped: dict[Reason, list[tuple[Event, Term | None]]] = {}
        for event, reason, condition in refused:
            grouped.setdefault(reason, []).append((event, condition))
        for reason, found in grouped.items():
            choices = [self._choice(state, action, event, condition) for event, condition in found[:FEW]]
            yield {
                "says": reason.says, "rule": reason.rule, "bound": reason.bound, "choices": choices,
                "rule_says": RULES[reason.rule].says if reason.rule else "",
                "more": max(0, len(found) - FEW),
            }  # fmt: skip

    def _choice(self, state: State, action: Action, event: Event, condition: Term | None) -> str:
        words = parameters_in_words(action, event)
        here = "" if condition is None else self._here(state, event, condition)
        return f"{words}: {here}" if words and here else words or here

    def _here(self, state: State, event: Event, condition: Term) -> str:
        negated = condition.op == "not" and condition.args[0].op in COMPARED
        node = condition.args[0] if negated else condition
        if node.op not in COMPARED:
            return ""
        left, right = (
            say_value(self.plain.evaluate(side, state, None, **event.parameters), side.type) for side in node.args
        )
        if negated and node.op == "eq":
            return f"both are {left}"
        return f"{left} and {right}"


def _named(action: Action) -> dict[str, Any]:
    return {
        "action": name_in_words(action.name), "says": one_line(first_sentence(action.doc)),
        "dangers": list(action.dangers), "rule": action.rule or "",
    }  # fmt: skip


def _variable(line: str) -> str:
    return line.partition(":")[0].partition("[")[0]
