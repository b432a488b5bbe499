"""Grounding: fields, instances and conditions under bounds, and what is refused with a reason."""

import pytest
from fencepost.model.language import (
    Bool,
    Constant,
    Enumeration,
    Ghost,
    Int,
    Map,
    Nat,
    Option,
    Properties,
    Protocol,
    Seq,
    Sort,
    action,
    append,
    axiom,
    each,
    either,
    exists,
    fault,
    forall,
    lemma,
    length,
    require,
)  # fmt: skip
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.readings.ground import BoundsError, Table, evaluate, ground


class Node(Sort, bound="nodes"):
    """Who takes part."""


class Term(Nat, upto="terms"):
    """A term of office."""


class Colour(Enumeration):
    """Three colours."""

    RED = 0
    GREEN = 1
    BLUE = 2


class Everything(Protocol):
    """One variable of each type."""

    term: Term
    leader: Option[Node]
    hue: Colour
    seen: Map[Node, Term]
    votes: Map[Node, Node, Bool]
    log: Seq[Colour, "room"]  # noqa: F821  (a bound's name)
    size: Constant[Nat]
    past: Ghost[Bool]

    @axiom
    def some_size(s):
        return s.size >= 1

    def init(s):
        s.hue = Colour.GREEN

    @action
    def elect(s, n: Node):
        require(s.leader != n)
        s.leader = n
        s.term = s.term + s.size
        s.past = True

    @action
    def write(s, n: Node, c: Colour):
        require(s.leader == n)
        append(s.log, c)
        s.seen[n] = s.term

    @fault(budget="losses")
    def lose(s):
        s.leader = None
        s.votes = each(lambda a, b: s.seen[a] == s.term)

    @fault(budget="losses")
    def forget(s):
        require(length(s.log) == 1)
        s.hue = Colour.RED


class EverythingProperties(Properties, of=Everything):
    @lemma
    def seen_below(s):
        """No node has seen a later term."""
        return forall(Node, lambda n: s.seen[n] <= s.term)


BOUNDS = {"nodes": 2, "terms": 3, "room": 2, "size": 1, "losses": 2}


def test_fields_have_names_and_ranges() -> None:
    """A map has a field per key, a sequence its length and entries, a budget a counter; all start at 0."""
    made = ground(Everything.spec, {}, BOUNDS)
    ranges = {f.name: f.high for f in made.layout.fields}
    assert ranges == {
        "term": 3, "leader": 2, "hue": 2, "seen[0]": 3, "seen[1]": 3,
        "votes[0,0]": 1, "votes[0,1]": 1, "votes[1,0]": 1, "votes[1,1]": 1,
        "length(log)": 2, "log[1]": 2, "log[2]": 2, "past": 1, "budget losses": 2,
    }  # fmt: skip
    assert made.decode(made.initial) == {
        "term": 0, "leader": None, "hue": 1, "seen": {}, "votes": {}, "log": (), "past": False,
    }  # fmt: skip


def test_states_are_written_and_read_back() -> None:
    """A state survives being written into fields; one beyond the bounds is refused with its place."""
    layout = ground(Everything.spec, {}, BOUNDS).layout
    state = {
        "term": 2, "leader": 1, "hue": 2, "seen": {(1,): 3}, "votes": {(0, 1): True}, "log": (2, 0), "past": True,
    }  # fmt: skip
    assert layout.decode(layout.encode(state)) == state
    with pytest.raises(BoundsError, match="term is 4, beyond 0 … 3"):
        layout.encode(state | {"term": 4})
    with pytest.raises(BoundsError, match="the length of log is 3"):
        layout.encode(state | {"log": (0, 0, 0)})
    with pytest.raises(BoundsError, match="a key of seen is 7"):
        layout.encode(state | {"seen": {(7,): 1}})


def test_only_what_can_leave_its_range_is_checked() -> None:
    """An assignment that stays within its range by its own form costs no check; one that may not, is checked."""
    instances = {i.event.action: i for i in ground(Everything.spec, {}, BOUNDS).instances}
    assert instances["lose"].fits.op == "const"
    assert instances["elect"].fits.op != "const"


def test_instances_that_nothing_enables_are_dropped() -> None:
    """A guard that is false for some parameters leaves no instance of them; a budget of zero, none at all."""
    made = ground(Parity.spec, {}, {"top": 4, "naps": 0})
    assert [(i.action, i.parameters) for i in made.instances] == [("pair", {"x": 2, "y": 2})]


class Small(Nat, upto="top"):
    """Up to a bound."""


class Parity(Protocol):
    """Guards about parameters alone."""

    hit: Bool

    @action
    def pair(s, x: Small, y: Small):
        require((x == y) & (x + y == 4))
        s.hit = True

    @fault(budget="naps")
    def nap(s):
        s.hit = False


def test_a_budget_is_shared_by_name() -> None:
    """Two faults with one budget happen so often together."""
    found = explore(Everything.spec, EverythingProperties.properties, BOUNDS)
    made = found.kernels.ground
    (index,) = made.layout.budgets.values()
    assert {i.budget for i in made.instances if any(f == index for f, _ in i.updates)} == {"losses"}
    assert found.taken["lose"] > 0
    assert found.taken["forget"] > 0
    without = explore(Everything.spec, EverythingProperties.properties, BOUNDS | {"losses": 0})
    assert without.taken["lose"] == without.taken["forget"] == 0
    assert without.distinct < found.distinct


class Unlimited(Protocol):
    """A number without a largest value."""

    n: Nat


class Signed(Protocol):
    """A number that may be negative."""

    n: Int


class Choosing(Protocol):
    """A rule with its alternative."""

    n: Small

    @action
    def move(s):
        s.n = either("730.8", s.n + 1, stays=s.n)


@pytest.mark.parametrize(
    ("spec", "bounds", "message"),
    [
        (Unlimited.spec, {}, r"Unlimited\.n is Nat, which has no largest value"),
        (Signed.spec, {}, r"Signed\.n is Int, which may be negative and has no largest value"),
        (Everything.spec, {k: v for k, v in BOUNDS.items() if k != "terms"}, "needs the bound 'terms'"),
        (Everything.spec, BOUNDS | {"size": 0}, "axiom .* does not hold for size = 0"),
        (Everything.spec, BOUNDS | {"room": -1}, "must not be negative"),
        (Choosing.spec, {"top": 3}, "rule 730.8 still offers a choice"),
    ],
)
def test_what_cannot_be_explored_is_refused(spec: object, bounds: dict[str, int], message: str) -> None:
    """The message names the variable, bound or rule, and says what to do."""
    with pytest.raises(BoundsError, match=message):
        ground(spec, {}, bounds)  # type: ignore[arg-type]


class Stepping(Protocol):
    """Goes up by one or two."""

    n: Small

    @action
    def one(s):
        s.n = s.n + 1

    @action
    def two(s):
        require(exists(Small, lambda x: x == s.n))
        s.n = s.n + 2


def test_cut_steps_are_counted_by_action() -> None:
    """A step beyond a range is not taken, and counted for its action."""
    found = explore(Stepping.spec, {}, {"top": 3})
    assert found.cut == {"one": 1, "two": 2}
    assert found.taken == {"one": 3, "two": 2}
    assert (found.distinct, found.generated, found.deadlocks) == (4, 6, 0)


def test_folding_keeps_meaning() -> None:
    """Nodes folded as they are made have the values that the operations say, on all small arguments."""
    table = Table()
    x, y = table.field(0, 3, truth=False), table.field(1, 3, truth=False)
    one = table.const(1)
    cases = [
        (table.le(table.add(x, one), y), lambda a, b: a + 1 <= b),
        (table.lt(table.sub(x, y), table.const(-1)), lambda a, b: a - b < -1),
        (table.eq(table.monus(x, y), one), lambda a, b: max(a - b, 0) == 1),
        (
            table.ite(table.lt(x, y), table.add(x, one), table.monus(x, one)),
            lambda a, b: a + 1 if a < b else max(a - 1, 0),
        ),
        (table.eq(table.ite(table.eq(x, y), one, table.const(2)), one), lambda a, b: a == b),
        (table.le(table.const(2), table.add(table.add(x, one), one)), lambda a, b: True),
        (table.both((table.eq(x, one), table.eq(x, table.const(2)))), lambda a, b: False),
    ]
    for node, meaning in cases:
        for a in range(4):
            for b in range(4):
                assert evaluate([node], (a, b)) == [int(meaning(a, b))]
    assert table.le(table.const(2), table.add(table.add(x, one), one)) is table.true
    assert table.le(x, table.const(3)) is table.true
    assert table.both((table.eq(x, one), table.eq(x, table.const(2)))) is table.false
