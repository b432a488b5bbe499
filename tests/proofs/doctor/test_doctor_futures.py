"""An open transaction as an operator sees it is loaded as every state that looks so, with the futures of all these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor import futures as module
from fencepost.proofs.doctor.futures import (
    ABORT,
    ABORT_BOTH,
    BEYOND,
    COMMIT,
    COMMIT_BOTH,
    DECISIONS,
    FENCED,
    LEFT,
    OF_BOTH,
    Model,
    Other,
    Seen,
    futures,
    models,
    with_late_markers,
)
from fencepost.proofs.readings.plain import Plain
from fencepost.proofs.results import State
from fencepost.properties.transactions.claims.core import Promises

DROPPED = Model("transaction-partitions/dropped-v2", (("absences", 1),))
PHASES, OUTCOMES, OPEN = ("IDLE", "ONGOING", "PREPARED"), ("NONE", "COMMIT", "ABORT"), 1
FATES = ("ABSENT", "OPEN", "COMMITTED", "ABORTED")
Node = tuple[Any, ...]
Steps = dict[tuple[str, str], int]


class Small:
    """A model within bounds, walked through by the plain reading: states with what they have spent of the budgets."""

    def __init__(self, model: Model, bounds: dict[str, int]) -> None:
        self.bounds, self.plain = bounds, Plain(model.spec, {}, bounds)
        self.budgets = sorted({a.budget for a in self.plain.spec.actions.values() if a.budget is not None})
        properties = Promises.asked_of(model.protocol).properties.values()
        self.promises = [each for each in properties if each.role in ("promise", "step")]
        self._after: dict[Node, list[tuple[Any, Node]]] = {}

    def node(self, state: State, spent: Iterable[int]) -> Node:
        frozen = tuple(tuple(sorted(v.items())) if isinstance(v, dict) else v for v in state.values())
        return frozen, tuple(spent)

    def state(self, node: Node) -> State:
        kinds = self.plain.spec.types
        return {n: dict(v) if isinstance(v, tuple) else v for n, v in zip(kinds, node[0], strict=True)}

    def after(self, node: Node) -> list[tuple[Any, Node]]:
        if node not in self._after:
            self._after[node] = list(self._steps(node))
        return self._after[node]

    def _steps(self, node: Node) -> Iterator[tuple[Any, Node]]:
        for event, state in self.plain.successors(self.state(node)):
            budget, spent = self.plain.spec.actions[event.action].budget, list(node[1])
            if budget is not None:
                spent[self.budgets.index(budget)] += 1
                if spent[self.budgets.index(budget)] > self.bounds[budget]:
                    continue
            if state is not None:
                yield event, self.node(state, spent)

    def reachable(self) -> set[Node]:
        """All states before any intervention."""
        first = self.node(self.plain.initial(), [0] * len(self.budgets))
        found, frontier = {first}, [first]
        while frontier:
            new = {n for node in frontier for event, n in self.after(node) if event.action != "intervene"} - found
            found |= new
            frontier = list(new)
        return found

    def spent(self, node: Node) -> Node:
        """The same state, after which no fault and no decision comes."""
        return node[0], tuple(self.bounds[budget] for budget in self.budgets)

    def decided(self, node: Node, decision: str) -> Iterator[Node]:
        faultless = node[0], tuple(0 if b == "interventions" else self.bounds[b] for b in self.budgets)
        nodes = [faultless]
        for action, parameters in {**DECISIONS, **OF_BOTH}[decision]:
            nodes = [
                (after[0], faultless[1]) for each in nodes for event, after in self.after(each)
                if event.action == action and parameters.items() <= event.parameters.items()
            ]  # fmt: skip
        yield from map(self.spent, nodes)

    def broken(self, starts: set[Node]) -> dict[str, int]:
        """The fewest steps in which each promise breaks from any of these."""
        found: dict[str, int] = {}
        known, frontier, depth = set(starts), starts, 0
        while frontier:
            pairs = [(node, after) for node in frontier for _, after in self.after(node)]
            for each in self.promises:
                here = [(node, None) for node in frontier] if each.kind == "always" else pairs
                states = ((self.state(a), None if b is None else self.state(b)) for a, b in here)
                if each.name not in found and not all(self.plain.holds(each, *both) for both in states):
                    found[each.name] = depth + (each.kind == "step")
            frontier = {after for _, after in pairs} - known
            known |= frontier
            depth += 1
        return found


def views(state: State, *, two: bool = False) -> Iterator[Seen]:
    """What an operator sees of each open transaction, written anew, with a second partition or without."""

    def waits(partition: int) -> bool:
        return bool(state["parts"].get((partition,), False)) and not state["marked"].get((partition,), False)

    for (txn, partition), fate in state["fate"].items():
        if fate == OPEN and partition == 0:
            behind = min(state["epoch"] - state["number"].get((txn,), 0), BEYOND)
            result = OUTCOMES[state["result"].get((txn,), 0)]
            other = Other(FATES[state["fate"].get((txn, 1), 0)], waits(1)) if two else None
            yield Seen(PHASES[state["phase"]], OUTCOMES[state["outcome"]], behind, waits(0), result, other)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Small]:
    """One producer with one transaction, in one partition or two, one of which goes away."""
    quiet = module.QUIET | dict.fromkeys(module.FAULTS, 0) | {"clients": 1, "transactions": 1}
    bounds = quiet | {"partitions": request.param, "absences": 1, "epochs": 2, "interventions": 1}
    monkeypatch.setattr(Model, "bounds", lambda model, seen: bounds)
    monkeypatch.setattr(Model, "room", lambda model, seen: bounds)
    module.reached.cache_clear()
    yield Small(DROPPED, bounds)
    module.reached.cache_clear()


@pytest.mark.parametrize("small", [1, 2], indirect=True, ids=["one partition", "two partitions"])
def test_a_view_has_the_futures_of_every_state_that_looks_so(small: Small) -> None:
    """Of each view that a reachable state has: as many states, and the same promises in the same number of steps after
    each decision, as a walk through the plain reading finds from those states one by one."""
    two = small.bounds["partitions"] == 2
    fitting: dict[Seen, set[Node]] = defaultdict(set)
    for node in small.reachable():
        for seen in views(small.state(node), two=two):
            fitting[seen].add(node)
    assert len(fitting) >= 5 and any(not seen.listed for seen in fitting)
    if two:  # it may be open in both, decided in one alone, and not there yet
        assert {seen.other.fate for seen in fitting if seen.other} == set(FATES)
        assert any(seen.both for seen in fitting)
    for seen, nodes in fitting.items():
        loaded = futures.__wrapped__(DROPPED, seen)
        assert (loaded.fitting, loaded.complete) == (len(nodes), True), seen
        assert {each.decision for each in loaded.futures} == {*DECISIONS, *(OF_BOTH if seen.both else ())}
        for future in loaded.futures:
            starts = {after for node in nodes for after in small.decided(node, future.decision)}
            assert future.possible == bool(starts), (seen, future.decision)
            assert {each.promise: each.steps for each in future.breaks} == small.broken(starts), (seen, future.decision)


def broken(model: Model, seen: Seen) -> dict[str, set[str]]:
    """The promises that each possible decision can break."""
    loaded = futures(model, seen)
    assert loaded.fitting and loaded.complete
    return {each.decision: {b.rule for b in each.breaks} for each in loaded.futures if each.possible}


@pytest.mark.parametrize(("outcome", "right", "wrong"), [("COMMIT", COMMIT, ABORT), ("ABORT", ABORT, COMMIT)])
def test_a_dropped_marker(outcome: str, right: str, wrong: str) -> None:
    """KAFKA-20734: the marker that is missing breaks nothing, the other one does, and so does waiting."""
    seen = Seen("IDLE", outcome, 1, False, outcome)
    assert not futures(Model(DROPPED.name), seen).fitting  # without a fault it cannot come about
    found = broken(DROPPED, seen)
    assert found[right] == set()
    assert found[wrong] >= {"txn.P5", "txn.P4" if outcome == "COMMIT" else "txn.P3"}
    assert "txn.P10" in found[LEFT] and FENCED not in found


def test_a_slow_transaction_must_not_be_decided_by_hand() -> None:
    """Its owner may commit it still; a new instance that fences it breaks nothing."""
    found = broken(models("4.3", "2")[0], Seen("ONGOING", None, 0, True, "NONE"))
    assert found[LEFT] == found[FENCED] == set()
    assert "txn.P4" in found[ABORT] and "txn.P3" in found[COMMIT]


def test_what_is_not_known_is_explored_in_every_way() -> None:
    """Where no log says whether it was committed, either decision can be wrong."""
    found = broken(DROPPED, Seen("IDLE", None, 1, False, None))
    assert "txn.P4" in found[ABORT] and "txn.P3" in found[COMMIT]


def test_models_are_of_the_release() -> None:
    """Markers are dropped from 4.3 on; the first model has no fault."""
    names = {release: [m.name.partition("/")[2] for m in models(release, "2")] for release in ("4.1", "4.3")}
    assert names == {"4.1": ["unclean-v2"] * 2, "4.3": ["dropped-v2", "dropped-v2", "unclean-v2"]}
    assert all(not models(release, version)[0].faults for release, version in (("3.9", "1"), ("4.4.0", "2")))
    with pytest.raises(InputError, match=r"3\.9 with transaction\.version 2, which that release does not have"):
        models("3.9", "2")


def test_one_of_two_partitions_is_decided_for_both() -> None:
    """Where the other has its marker, the same outcome breaks nothing, and the other one tears the transaction at once.
    Where both are open, a marker in one alone leaves a tear to come, and the same in both does not."""
    decided = Seen("IDLE", "COMMIT", 1, False, "COMMIT", Other("COMMITTED", False))
    assert not futures(Model(DROPPED.name), decided).fitting
    found = broken(DROPPED, decided)
    assert found[COMMIT] == set() and "txn.P2" in found[ABORT] and "txn.P2" in found[LEFT]
    found = broken(DROPPED, decided._replace(other=Other("OPEN", False)))
    assert "txn.P2" in found[COMMIT] & found[ABORT] and "txn.P2" not in found[ABORT_BOTH]
    assert found[COMMIT_BOTH] == set() and found[ABORT_BOTH] >= {"txn.P4", "txn.P5"}


def test_a_later_transaction_goes_on_elsewhere() -> None:
    """The id's next transaction is under way in the other partition: nothing changes about the one that hangs."""
    seen = Seen("ONGOING", None, 1, False, "COMMIT", Other("COMMITTED", True))
    assert not futures(Model(DROPPED.name), seen).fitting
    loaded = futures(DROPPED, seen)  # of the later transaction's states only some are looked at
    found = {each.decision: {b.rule for b in each.breaks} for each in loaded.futures if each.possible}
    assert loaded.fitting and not loaded.complete
    assert found[COMMIT] == set() and "txn.P2" in found[ABORT]
    assert [event.action for event in loaded.came].count("begin") == 2 and "drop" in str(loaded.came)


@pytest.mark.parametrize(("release", "version"), [("4.0.0", "2"), ("4.1", "2"), ("3.9", "1"), ("4.3", "1")])
def test_late_markers_are_among_the_futures(release: str, version: str) -> None:
    """Left alone, a slow transaction can be decided by a marker of an earlier one, where the release takes that."""
    usual = models(release, version)[0]
    late, seen = with_late_markers(usual, release, version), Seen("ONGOING", None, 0, True, "NONE")
    assert late is not None
    assert broken(usual, seen)[LEFT] == set()
    found = broken(late, seen)
    assert found[LEFT] >= {"txn.P3", "txn.P4", "txn.P5"}


def test_late_markers_are_of_the_release() -> None:
    """From 4.2 on partitions refuse them under version 2; a model of any network has them already."""
    assert with_late_markers(models("4.2", "2")[0], "4.2", "2") is None
    assert with_late_markers(Model("transactions/v1-hanging"), "3.9", "1") is None


def test_a_late_marker_tears_a_transaction() -> None:
    """Committed in one partition while it goes on in another: in 4.0 by a late marker, and otherwise not at all."""
    seen = Seen("ONGOING", None, 0, True, "NONE", Other("COMMITTED", True))
    usual, *faulty = models("4.0.0", "2")
    late = with_late_markers(usual, "4.0.0", "2")
    assert late is not None and module.reached(late, seen).columns.shape[1]
    assert not any(module.reached(model, seen).columns.shape[1] for model in (usual, *faulty))
