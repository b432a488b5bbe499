"""Mutations: every way to get one rule wrong is listed once, and changes what it says and nothing else."""

import pytest
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import (
    Bool,
    Map,
    ModelError,
    Nat,
    Protocol,
    Sort,
    Spec,
    action,
    either,
    limit,
    require,
    rule,
    when,
)  # fmt: skip
from fencepost.model.language.derived.mutations import map_terms, mutated, mutation, mutations, settle
from fencepost.model.language.tree.terms import Term, subterms
from fencepost.proofs.readings.words import say, say_update


class Broker(Sort, bound="brokers"):
    """A broker."""


class Id(Nat, upto="ids"):
    """An id."""


class Shop(Protocol):
    """A protocol in which each kind of mutation has one place, and a guard stands in two actions by way of a helper."""

    next: Id
    end: Id
    open: Bool
    held: Map[Broker, Id]

    def in_stock(s):
        require(s.next < s.end, rule="730.16")

    @action
    def sell(s, b: Broker):
        s.in_stock()
        require(s.open)
        limit(s.next < 3)
        s.held[b] = s.next
        with rule("730.8"):
            s.next = s.next + 1

    @action
    def give(s, b: Broker):
        s.in_stock()
        require(~(s.end <= s.held[b]), rule="730.20")
        s.held[b] = either("730.19", s.next, nothing=0, all=s.end)

    @action(rule="730.10")
    def close(s):
        require(s.open, rule="730.7")
        with rule("730.14"):
            s.open = False

    @action
    def reopen(s):
        require(~s.open & (s.next == 0), rule="730.18")
        s.end = when(s.open, s.end, either("730.15", s.end + 1, late=s.end + 2))
        s.open = True


def guards(spec: Spec, name: str) -> list[str]:
    return [say(g.condition) for g in spec.actions[name].guards]


def updates(spec: Spec, name: str) -> list[str]:
    return [say_update(u) for u in spec.actions[name].updates]


def changed(spec: Spec) -> list[str]:
    """The actions in which a settled protocol differs from what its rules say."""
    right = settle(Shop.spec)
    return [n for n in right.actions if n not in spec.actions or right.actions[n] != spec.actions[n]]


def test_all_mutations_of_a_protocol() -> None:
    """Guards dropped, shifted and dropped together, updates left out and off by one, actions left out, alternatives."""
    assert [(m.rule, m.name) for m in mutations(Shop.spec)] == [
        ("730.7", "close: guard 1 dropped"),
        ("730.8", "sell: next not updated"),
        ("730.8", "sell: next one less"),
        ("730.8", "sell: next one more"),
        ("730.10", "close: never"),
        ("730.14", "close: open not updated"),
        ("730.15", "late"),
        ("730.16", "sell: guard 1 dropped"),
        ("730.16", "sell: guard 1 looser"),
        ("730.16", "sell: guard 1 stricter"),
        ("730.18", "reopen: guard 1 dropped"),
        ("730.18", "reopen: guard 2 dropped"),
        ("730.18", "reopen: guards dropped together"),
        ("730.19", "all"),
        ("730.19", "nothing"),
        ("730.20", "give: guard 1 dropped"),
        ("730.20", "give: guard 1 looser"),
        ("730.20", "give: guard 1 stricter"),
    ]


@pytest.mark.parametrize(
    ("number", "name", "where", "guards_after", "updates_after"),
    [
        ("730.7", "close: guard 1 dropped", "close", [], ["open := no"]),
        ("730.8", "sell: next not updated", "sell", None, ["held[b] := next"]),
        ("730.8", "sell: next one less", "sell", None, ["held[b] := next", "next := next + 1 - 1"]),
        ("730.8", "sell: next one more", "sell", None, ["held[b] := next", "next := next + 1 + 1"]),
        ("730.14", "close: open not updated", "close", None, []),
        ("730.15", "late", "reopen", None, ["end := (end if open, else end + 2)", "open := yes"]),
        ("730.18", "reopen: guard 1 dropped", "reopen", ["next = 0"], None),
        ("730.18", "reopen: guard 2 dropped", "reopen", ["not open"], None),
        ("730.18", "reopen: guards dropped together", "reopen", [], None),
        ("730.19", "all", "give", None, ["held[b] := end"]),
        ("730.19", "nothing", "give", None, ["held[b] := 0"]),
        ("730.20", "give: guard 1 dropped", "give", ["next < end"], None),
        ("730.20", "give: guard 1 looser", "give", ["next < end", "end >= held[b]"], None),
        ("730.20", "give: guard 1 stricter", "give", ["next < end", "end > held[b] + 1"], None),
    ],
)
def test_what_a_mutation_changes(
    number: str, name: str, where: str, guards_after: list[str] | None, updates_after: list[str] | None
) -> None:
    """One action differs from the settled protocol, in its guards or in its updates."""
    right, wrong = settle(Shop.spec), mutation(Shop.spec, number, name).apply()
    assert changed(wrong) == [where]
    assert guards(wrong, where) == (guards(right, where) if guards_after is None else guards_after)
    assert updates(wrong, where) == (updates(right, where) if updates_after is None else updates_after)


@pytest.mark.parametrize(
    ("way", "after"), [("dropped", []), ("looser", ["next <= end"]), ("stricter", ["next + 1 < end"])]
)
def test_a_guard_shared_through_a_helper_is_one_guard(way: str, after: list[str]) -> None:
    """It is got wrong in every action that calls the helper, or the other action would hide the mistake."""
    wrong = mutation(Shop.spec, "730.16", f"sell: guard 1 {way}").apply()
    assert changed(wrong) == ["sell", "give"]
    assert guards(wrong, "sell") == [*after, "open"]
    assert guards(wrong, "give") == [*after, "end > held[b]"]


def test_an_action_left_out() -> None:
    """A mechanism that is an action is taken out as a whole."""
    wrong = mutation(Shop.spec, "730.10", "close: never").apply()
    assert changed(wrong) == ["close"]
    assert "close" not in wrong.actions


def test_bounds_and_guards_without_a_rule_are_left_alone() -> None:
    """A limit is no rule, and a guard that cites none only says when a step makes sense."""
    for found in mutations(Shop.spec):
        sell = found.apply().actions["sell"]
        assert [say(t) for t in sell.limits] == ["next < 3"]
        assert "open" in guards(found.apply(), "sell")


def choices(spec: Spec) -> list[Term]:
    roots = [
        t for a in spec.actions.values() for t in (*(g.condition for g in a.guards), *(u.value for u in a.updates))
    ]
    return [node for root in roots for node in subterms(root) if node.op == "choice"]


def test_settle() -> None:
    """Every choice is decided for what its rule says, or for what was asked; guards that become true are gone."""
    assert len(choices(Shop.spec)) == 2
    right = settle(Shop.spec)
    assert choices(right) == []
    assert updates(right, "give") == ["held[b] := next"]
    other = mutation(Shop.spec, "730.19", "all").apply()
    assert choices(other) == []
    assert (updates(other, "give"), updates(other, "reopen")) == (["held[b] := end"], updates(right, "reopen"))


def test_mutated() -> None:
    """Several mistakes at once, in whatever order they are named, by the names that they have in the protocol."""
    pair = ("730.19", "all"), ("730.20", "give: guard 1 dropped")
    both = mutated(Shop.spec, pair)
    assert updates(both, "give") == ["held[b] := end"]
    assert len(both.actions["give"].guards) == len(settle(Shop.spec).actions["give"].guards) - 1
    assert mutated(Shop.spec, pair[::-1]) == both
    assert mutated(Shop.spec, pair[:1]) == mutation(Shop.spec, *pair[0]).apply()
    assert mutated(Shop.spec, ()) == settle(Shop.spec)


def test_mutations_that_leave_one_another_nothing() -> None:
    """What is gone can't be changed as well."""
    with pytest.raises(ModelError, match="changes nothing in Shop beside the other mutations"):
        mutated(Shop.spec, (("730.10", "close: never"), ("730.14", "close: open not updated")))
    with pytest.raises(ModelError, match=r"has no mutation 'backwards' of rule 730\.19"):
        mutated(Shop.spec, (("730.19", "backwards"),))


def test_map_terms_reaches_guards_limits_updates_and_initial_values() -> None:
    """Every variable that is read is seen, wherever it stands."""
    seen: set[str] = set()

    def note(node: Term) -> Term:
        if node.op == "state":
            seen.add(node.data[0])
        return node

    map_terms(Shop.spec, note)
    assert seen == {"next", "end", "open", "held"}


class Pairs(Protocol):
    """Two marked updates of one map, and two pairs of guards, in one action."""

    held: Map[Broker, Id]
    on: Bool
    off: Bool

    @action
    def go(s, b: Broker, c: Broker):
        require(s.on & (b != c), rule="730.18")
        require(s.off & (s.held[b] == 0), rule="730.18")
        with rule("730.8"):
            s.held[b] = 1
            s.held[c] = 2


def test_no_mutation_hides_behind_the_name_of_another() -> None:
    """What would be called the same is numbered."""
    found = [m for m in mutations(Pairs.spec) if "not updated" in m.name or "together" in m.name]
    assert [(m.name, guards(m.apply(), "go"), updates(m.apply(), "go")) for m in found] == [
        ("go: held not updated", ["on", "b != c", "off", "held[b] = 0"], ["held[c] := 2"]),
        ("go: held not updated (2)", ["on", "b != c", "off", "held[b] = 0"], ["held[b] := 1"]),
        ("go: guards dropped together", ["off", "held[b] = 0"], ["held[b] := 1", "held[c] := 2"]),
        ("go: guards dropped together (2)", ["on", "b != c"], ["held[b] := 1", "held[c] := 2"]),
    ]


class Everywhere(Protocol):
    """A choice in a key, in an initial value and in a guard."""

    held: Map[Id, Bool]
    on: Bool

    def init(s):
        s.on = either("730.15", False, started=s.on == False)  # noqa: E712

    @action
    def go(s, i: Id):
        require(either("730.7", s.on, always=True))
        s.held[either("730.8", i, next=i + 1)] = True


def test_choices_are_found_wherever_they_stand() -> None:
    """In guards, keys and initial values as well as in values; a guard that becomes true is gone."""
    found = {m.name: m.apply() for m in mutations(Everywhere.spec)}
    assert list(found) == ["always", "next", "started"]
    assert guards(found["always"], "go") == []
    assert updates(found["next"], "go") == ["held[i + 1] := yes"]
    assert [say_update(u) for u in found["started"].initial] == ["on := on = no"]
    assert [say_update(u) for u in found["next"].initial] == ["on := no"]


def test_an_unknown_mutation_names_those_there_are() -> None:
    """The message lists the mutations of that rule, or all of them if it has none."""
    with pytest.raises(ModelError, match=r"Shop has no mutation 'early' of rule 730.15; there are: 730.15 late$"):
        mutation(Shop.spec, "730.15", "early")
    with pytest.raises(ModelError, match=r"of rule 730.2; there are: 730.7 close: guard 1 dropped; 730.8 sell"):
        mutation(Shop.spec, "730.2", "early")


def test_mutations_of_kraft_are_unique_and_differ_from_it() -> None:
    """No two have the same rule and name, and none is the protocol itself under another name."""
    found = mutations(Kraft.spec)
    assert len({(m.rule, m.name) for m in found}) == len(found)
    right = settle(Kraft.spec)
    assert [f"{m.rule} {m.name}" for m in found if m.apply() == right] == []
