"""A refinement is traced into conditions on a step and on the initial state, made of the core's own guards and updates.

Their meaning is held against the protocols themselves in tests/proofs/engines/test_refinements_meaning.py.
"""

from fencepost.model.language import (
    Bool,
    Constant,
    Ghost,
    Map,
    Nat,
    Properties,
    Protocol,
    Set,
    Sort,
    action,
    axiom,
    each,
    either,
    exists,
    fault,
    limit,
    refinement,
    require,
    when,
)  # fmt: skip
from fencepost.model.language.derived.refinements import Refinement
from fencepost.model.language.tree.terms import Term, subterms
from fencepost.proofs.readings.words import say


class Node(Sort, bound="nodes"):
    """A node."""


class Count(Nat, upto="counts"):
    """A number."""


class Core(Protocol):
    """A count, and who counts."""

    size: Constant[Nat]
    count: Count
    on: Bool
    who: Set[Node]
    seen: Ghost[Bool]

    @axiom
    def some(s):
        return s.size >= 1

    def init(s):
        s.count = s.size

    @action
    def more(s, n: Node):
        require(s.who[n])
        limit(s.count < 7)
        s.count = either("730.8", s.count + s.size, less=s.count)
        s.seen = True

    @fault(budget="changes")
    def change(s, n: Node, m: Node):
        require(s.count != 0)
        s.who[n] = s.who[m]
        s.who[m] = False

    @action
    def clear(s):
        s.who = each(lambda n: s.on & s.who[n])


class Full(Protocol):
    """A protocol with two counts."""

    size: Constant[Nat]
    slow: Count
    fast: Count
    on: Bool
    marks: Map[Node, Node, Count]
    who: Map[Node, Count]

    @action
    def step(s, n: Node):
        s.fast = s.fast + 1

    @action
    def rest(s):
        s.on = True


class Refines(Properties, of=Full):
    """With a mapping of each kind, and one variable mapped to itself."""

    def counts(s):
        return when(s.slow < s.fast, s.slow, s.fast)

    @refinement(of=Core, leaves_out=("seen",), actions=dict(step="more", rest=()))
    def core(s):
        """The slower count counts."""
        return dict(count=s.counts(), who=each(lambda n: exists(Node, lambda m: s.marks[n, m] < s.who[m])))


ITEM = Refines.properties["core"]
assert isinstance(ITEM, Refinement)
NOW = "(slow if slow < fast, else fast)"
THEN = "(slow' if slow' < fast', else fast')"


def holder(node: str, prime: str = "") -> str:
    return f"for some m: marks{prime}[{node}, m] < who{prime}[m]"


def test_what_it_is() -> None:
    """A step property with something to say of the initial state, of the core as the mapping shows it."""
    assert (ITEM.kind, ITEM.role, ITEM.rule, ITEM.doc) == ("step", "refinement", None, "The slower count counts.")
    assert list(ITEM.mapping) == list(ITEM.core.types) == ["count", "on", "who"]
    assert ITEM.hints == {"step": ("more",), "rest": ()}
    assert [say(t) for t in ITEM.unchanged.values()] == [
        f"{THEN} = {NOW}", "on' = on", f"for every key1: {holder('key1', chr(39))} = {holder('key1')}",
    ]  # fmt: skip


def test_guards_are_the_core_s_alone() -> None:
    """Neither a limit nor a budget is a guard: they bound the exploration of the core."""
    assert {name: [say(g) for g in step.guards] for name, step in ITEM.steps.items()} == {
        "more": [holder("n")], "change": [f"{NOW} != 0"], "clear": [],
    }  # fmt: skip
    assert all(not a.limits and a.budget is None for a in ITEM.core.actions.values())


def test_updates_become_equations() -> None:
    """What is assigned, entry by entry with the later assignment first, and what is not stays; a choice says what its
    rule says; what is left out is nowhere."""
    more, change, clear = ITEM.steps.values()
    assert say(more.effects["count"]) == f"{THEN} = {NOW} + size"
    assert more.effects["on"] is ITEM.unchanged["on"] and more.effects["who"] is ITEM.unchanged["who"]
    key = "key1"
    written = f"(no if key1 = m, else ({holder('m')} if key1 = n, else {holder(key)}))"
    assert say(change.effects["who"]) == f"for every key1: {holder(key, chr(39))} = {written}"
    assert say(clear.effects["who"]) == f"for every key1: {holder(key, chr(39))} = on and ({holder(key)})"


def test_initially_it_is_the_core_s_initial_state_and_its_axioms_hold() -> None:
    """What the core's init() assigns, and zero elsewhere."""
    assert ITEM.initially is not None
    assert say(ITEM.initially) == (
        f"{NOW} = size and on = no and (for every key1: {holder('key1')} = no) and 1 <= size"
    )


def test_no_quantifier_of_the_mapping_takes_a_variable_of_the_core() -> None:
    """The core's parameters, its quantifiers, the mapping's, and those for all entries of a map have four kinds of
    names."""
    bound: set[str] = set()
    used = {n.data for n in subterms(ITEM.term) if n.op == "local"}
    for node in subterms(ITEM.term):
        if node.op in ("forall", "exists"):
            bound.update(name for name, _ in node.data)
    assert used == bound == {"n.0", "m.0", "key1.k", "m.m2"}


class Nested(Protocol):
    """A core whose quantifiers are as deep as those of the mapping."""

    who: Set[Node]

    @action
    def ask(s):
        require(exists(Node, lambda n: exists(Node, lambda m: s.who[n] & s.who[m])))
        s.who = each(lambda n: False)


class OfNested(Properties, of=Full):
    """Its mapping binds a name at the same depth."""

    @refinement(of=Nested)
    def core(s):
        """Who has a mark."""
        return dict(who=each(lambda n: exists(Node, lambda m: s.marks[n, m] == s.who[n])))


def test_equal_names_at_equal_depth_stay_apart() -> None:
    """``who[m]`` of the core does not become ``for some m: marks[m, m]``."""
    item = OfNested.properties["core"]
    assert isinstance(item, Refinement)
    (guard,) = item.steps["ask"].guards
    selects = {tuple(k.data for k in n.args[1:]) for n in subterms(guard) if n.op == "select"}
    assert selects == {("n.1", "m.m2"), ("m.2", "m.m2"), ("n.1",), ("m.2",)}


class Doubled(Properties, of=Core):
    """A protocol refines itself under the mapping that says nothing."""

    @refinement(of=Core)
    def itself(s):
        """Every variable is itself, ghosts included."""
        return {}


def test_the_mapping_that_says_nothing() -> None:
    """All variables under their own names, so that each core step is the action itself."""
    item = Doubled.properties["itself"]
    assert isinstance(item, Refinement)
    assert list(item.mapping) == ["count", "on", "who", "seen"]

    def read(root: Term) -> set[tuple[str, bool]]:
        return {n.data for n in subterms(root) if n.op == "state"}

    assert read(item.steps["more"].effects["seen"]) == {("seen", True)}
    assert say(item.steps["more"].effects["count"]) == "count' = count + size"
