"""A protocol with one of each thing that is written in its own way in TLA+."""

from fencepost.model.language import (
    Bool,
    Constant,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
    Properties,
    Protocol,
    Seq,
    Set,
    Sort,
    action,
    append,
    at,
    axiom,
    each,
    exists,
    fault,
    forall,
    implies,
    latest,
    length,
    limit,
    promise,
    require,
    step,
    when,
    witness,
)

BOUNDS = {"clerks": 2, "turn": 2, "places": 2, "log": 2, "losses": 1}


class Clerk(Sort, bound="clerks"):
    """The one that serves."""


class Turn(Nat, upto="turn"):
    """A number that is called."""


class Place(Nat, upto="places - 1"):
    """A place in the room."""


class Mood(Enumeration):
    """How it goes."""

    CALM = 0
    BUSY = 1


class Corners(Protocol):
    """A waiting room."""

    places: Constant[Nat]
    turn: Turn  # a bound has this name as well
    key: Turn  # and an operator that is written into the module binds this one
    clerk: Clerk  # of a sort whose first element is its zero value
    asked: Option[Clerk]
    busy: Bool
    mood: Map[Clerk, Mood]
    held: Set[Clerk, Turn]
    seat: Map[Place, Option[Turn]]
    log: Seq[Turn, "log"]  # type: ignore[name-defined]  # noqa: F821  a bound's name
    calls: Ghost[Turn]
    unread: Ghost[Turn]

    @axiom
    def several_places(s):
        return s.places >= 2

    def init(s):
        s.turn = 1
        s.held = each(lambda c, t: t == 2)

    def someone_is_busy(s, m):
        """Any clerk is in that mood."""
        return exists(Clerk, lambda c: s.mood[c] == m)

    @action
    def call(s, c: Clerk, turn: Turn):
        """The next number, or the first again."""
        require((s.turn == turn) | s.busy | s.someone_is_busy(Mood.BUSY))
        limit(s.key < 2)
        s.turn = s.turn + 1
        s.busy = (s.clerk == c) & ~s.busy
        s.mood[s.clerk] = Mood.CALM
        s.mood[c] = Mood.BUSY
        s.calls = when(s.calls < 2, s.calls + 1, s.calls)
        s.unread = turn

    @action
    def sit(s, p: Place):
        """One place further than p, if there is one: else the step is beyond the bounds."""
        require(implies(s.busy, s.seat[p] == s.turn) & (s.seat[p + 1] == None))  # noqa: E711
        s.seat[p + 1] = when(s.busy, s.seat[p], s.turn - 1)

    @action
    def note(s, c: Clerk):
        """The log has only so much room."""
        last = latest(s.log, lambda n: n < s.turn)
        require(at(s.log, last + 1) < 2, rule="730.2")
        s.key = last
        append(s.log, last + s.turn)
        s.clerk = c
        s.asked = when(s.asked == c, s.asked, c)

    @action
    def clear(s):
        """All at once."""
        require(length(s.log) > 0)
        s.held = each(lambda c, t: ~s.held[c, t] & (t == s.turn) & (s.mood[c] == Mood.BUSY))
        s.turn = 0

    @fault(budget="losses")
    def lose(s, c: Clerk):
        """Everything of a clerk goes, once."""
        s.held = each(lambda d, t: s.held[d, t] & (d != c))
        s.mood[c] = Mood.CALM


class CornersProperties(Properties, of=Corners):
    """Some that hold, and some that do not."""

    @promise(rule="730.P1")
    def within_turns(s):
        """It never holds a number that is too large: which follows from the bounds."""
        return forall(Clerk, Turn, lambda c, t: implies(s.held[c, t], t <= 2))

    @promise(rule="730.P1")
    def never_calm(s):
        """Somebody is busy or nobody was asked; broken, since a clerk may note before anybody is called."""
        return s.someone_is_busy(Mood.BUSY) | (s.asked == None)  # noqa: E711

    @step(rule="730.P1")
    def log_grows(old, new):
        """Nothing is taken out of the log."""
        return length(old.log) <= length(new.log)

    @step(rule="730.P1")
    def calls_grow_by_one(old, new):
        """Broken by the calls that come when there were two."""
        return implies(old.turn < new.turn, old.calls < new.calls)

    @witness(of="within_turns")
    def holds_one(s):
        """Something is held."""
        return exists(Clerk, Turn, lambda c, t: s.held[c, t])

    @witness(of="never_calm")
    def asked_one(s):
        """A clerk was asked."""
        return exists(Clerk, lambda c: s.asked == c)

    @witness(of="log_grows")
    def full(s):
        """The log has no room."""
        return length(s.log) == 2

    @witness(of="calls_grow_by_one")
    def called(s):
        """Twice."""
        return s.calls == 2
