"""Small protocols on which the Z3 engines are tested; their properties hold or fail for reasons a reader can check by
eye."""

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
    either,
    exists,
    fault,
    forall,
    implies,
    latest,
    lemma,
    length,
    limit,
    promise,
    require,
    rule,
    step,
    when,
    witness,
)  # fmt: skip


class Broker(Sort, bound="brokers"):
    pass


class Id(Nat, upto="ids"):
    pass


class Times(Nat, upto=3):
    pass


class Allocation(Protocol):
    """A controller hands out blocks [next, next + size) to brokers, and each broker hands out the ids of its block."""

    size: Constant[Nat]
    next: Id
    has: Set[Broker]
    first: Map[Broker, Id]
    cursor: Map[Broker, Id]
    end: Map[Broker, Id]
    used: Ghost[Map[Id, Times]]

    @axiom
    def a_block_is_not_empty(s):
        return s.size >= 1

    @action
    def grant(s, b: Broker):
        require(~s.has[b])
        s.has[b] = True
        s.first[b] = s.next
        s.cursor[b] = s.next
        s.end[b] = s.next + s.size
        with rule("730.8"):
            s.next = either("730.8", s.next + s.size, overlap=s.next + s.size - 1)

    @action
    def hand_out(s, b: Broker):
        require(s.has[b])
        require(s.cursor[b] < s.end[b], rule="730.12")
        s.used[s.cursor[b]] = s.used[s.cursor[b]] + 1
        s.cursor[b] = s.cursor[b] + 1

    @action
    def give_up(s, b: Broker):
        require(s.has[b] & (s.cursor[b] == s.end[b]))
        s.has[b] = False

    @fault(budget="crashes")
    def crash(s, b: Broker):
        s.has[b] = False


class AllocationProperties(Properties, of=Allocation):
    @promise(rule="730.P1")
    def no_id_twice(s):
        """No id is handed out twice."""
        return forall(Id, lambda i: s.used[i] <= 1)

    @witness(of="no_id_twice")
    def one_id(s):
        """Some id is handed out."""
        return exists(Id, lambda i: s.used[i] == 1)

    @lemma
    def ids_ahead_are_free(s):
        """What is not granted is not used."""
        return forall(Id, lambda i: implies(i >= s.next, s.used[i] == 0))

    @lemma
    def ids_in_blocks_are_free(s):
        """What a broker still holds is not used."""
        return forall(Broker, Id, lambda b, i: implies(s.has[b] & (s.cursor[b] <= i) & (i < s.end[b]), s.used[i] == 0))

    @lemma
    def blocks_lie_behind(s):
        """Blocks end at or below the next free id."""
        return forall(Broker, lambda b: implies(s.has[b], (s.cursor[b] <= s.end[b]) & (s.end[b] <= s.next)))

    @lemma
    def blocks_start_before_they_are_used(s):
        """A cursor never stands before the start of its block."""
        return forall(Broker, lambda b: implies(s.has[b], s.first[b] <= s.cursor[b]))

    @lemma
    def blocks_are_disjoint(s):
        """Two blocks share no id."""
        return forall(
            Broker,
            Broker,
            lambda b, c: implies(s.has[b] & s.has[c] & (b != c), (s.end[b] <= s.first[c]) | (s.end[c] <= s.first[b])),
        )

    @step(rule="730.8")
    def next_only_grows(s, t):
        """The next free id never goes back."""
        return s.next <= t.next

    @witness(of="next_only_grows")
    def next_moves(s):
        """Some block is granted."""
        return s.next >= 1


class Contradiction(AllocationProperties, of=Allocation):
    """The same, with a lemma that no state satisfies."""

    @lemma
    def impossible(s):
        """Some id is used more often than it is used."""
        return s.next < s.next


class Customer(Sort, bound="customers"):
    pass


class Ticket(Nat, upto="tickets"):
    pass


class Place(Enumeration):
    OUTSIDE = 0
    WAITING = 1
    INSIDE = 2


class TicketLock(Protocol):
    """Who wants the lock draws a ticket, and enters when it is served."""

    ticket: Ticket
    serving: Ticket
    mine: Map[Customer, Option[Ticket]]
    place: Map[Customer, Place]

    @action
    def draw(s, c: Customer):
        require(s.mine[c] == None)  # noqa: E711
        s.mine[c] = s.ticket
        s.place[c] = Place.WAITING
        s.ticket = s.ticket + 1

    @action
    def enter(s, c: Customer):
        require(s.place[c] == Place.WAITING)
        require(s.mine[c] == s.serving, rule="730.2")
        s.place[c] = Place.INSIDE

    @action
    def leave(s, c: Customer):
        require(s.place[c] == Place.INSIDE)
        s.place = each(lambda d: when(c == d, Place.OUTSIDE, s.place[d]))
        s.mine[c] = None
        s.serving = s.serving + 1


class TicketLockProperties(Properties, of=TicketLock):
    @promise(rule="730.2")
    def one_inside(s):
        """Two customers are never inside together."""
        return forall(
            Customer,
            Customer,
            lambda c, d: implies((s.place[c] == Place.INSIDE) & (s.place[d] == Place.INSIDE), c == d),
        )

    @witness(of="one_inside")
    def somebody_waits_for_somebody(s):
        """One is inside and another waits."""
        return exists(Customer, Customer, lambda c, d: (s.place[c] == Place.INSIDE) & (s.place[d] == Place.WAITING))

    @lemma
    def tickets_differ(s):
        """No two customers hold the same ticket."""
        return forall(Customer, Customer, Ticket, lambda c, d, t: implies((s.mine[c] == t) & (s.mine[d] == t), c == d))

    @lemma
    def tickets_were_drawn(s):
        """A ticket held was drawn, and was not served before."""
        return forall(Customer, Ticket, lambda c, t: implies(s.mine[c] == t, (s.serving <= t) & (t < s.ticket)))

    @lemma
    def drawn_before_served(s):
        """No ticket is served before it is drawn."""
        return s.serving <= s.ticket

    @lemma
    def only_the_served_are_inside(s):
        """Who is inside holds the ticket that is served."""
        return forall(Customer, lambda c: implies(s.place[c] == Place.INSIDE, s.mine[c] == s.serving))


class Entry(Nat, upto="entries"):
    pass


class Level(Nat, upto="levels"):
    pass


class Journal(Protocol):
    """Every construct that the bounded readings have and small protocols seldom use together."""

    step_size: Constant[Nat]
    lines: Seq[Option[Entry], "places"]  # noqa: F821
    marks: Map[Customer, Place, Level]
    owner: Map[Level, Option[Customer]]
    balance: Map[Customer, Level]
    chosen: Customer
    low: Level
    flags: Map[Option[Level], Bool]
    kept: Option[Level]

    def init(s):
        s.balance = each(lambda c: s.step_size)
        s.low = 1

    @action
    def write(s, e: Option[Entry]):
        require(length(s.lines) <= s.low + 1)
        s.low = latest(s.lines, lambda line: line == e)
        append(s.lines, e)

    @action
    def mark(s, c: Customer, d: Customer, p: Place):
        more = s.marks[c, Place.WAITING] + 1
        s.marks[c, p] = s.balance[d]
        s.marks[d, p] = more
        s.chosen = d

    @action
    def own(s, c: Customer, n: Level):
        require(exists(Level, lambda m: (s.owner[m] != c) & (m - n <= s.low)))
        s.owner[s.balance[c] + n] = c
        s.flags[when(s.low == n, s.kept, n)] = ~s.flags[s.kept]

    @action
    def reset(s, c: Customer):
        require(at(s.lines, s.low + 1) == None)  # noqa: E711
        s.balance = each(lambda d: when(d == c, s.low - s.balance[d], s.balance[d] + s.step_size))
        s.balance[c] = s.low
        s.owner = each(lambda n: when(s.owner[n] == s.chosen, None, s.owner[n]))

    @fault(budget="losses")
    def lose(s, upto: Level):
        limit(s.low >= 1)
        s.low = when(latest(s.lines, lambda line: line != None, upto) == 0, upto, s.low - 1)  # noqa: E711


class JournalProperties(Properties, of=Journal):
    @promise(rule="730.2")
    def never_three_lines_alike(s):
        """No more than two lines say the same."""
        return forall(
            Entry,
            lambda e: ~((at(s.lines, 1) == e) & (at(s.lines, 2) == e) & (at(s.lines, 3) == e)),
        )

    @witness(of="never_three_lines_alike")
    def two_lines_alike(s):
        """Two lines say the same, and it is not nothing."""
        return exists(Entry, lambda e: (at(s.lines, 1) == e) & (at(s.lines, 2) == e) & (e == 1))

    @witness(of="balance_keeps_up")
    def an_owner_at_the_top(s):
        """The first customer has the level above two, and another is chosen."""
        return exists(Customer, lambda c: (s.owner[3] == c) & (s.chosen != c) & s.flags[None])

    @step(rule="730.8")
    def balance_keeps_up(s, t):
        """Who is chosen keeps what it had."""
        return t.balance[s.chosen] >= s.balance[s.chosen]

    @lemma
    def marks_differ(s):
        """No customer is marked twice alike."""
        return forall(
            Customer,
            lambda c: (s.marks[c, Place.INSIDE] == 0) | (s.marks[c, Place.INSIDE] != s.marks[c, Place.OUTSIDE]),
        )


JOURNAL_BOUNDS = {"customers": 2, "entries": 1, "levels": 3, "places": 3, "losses": 1, "step_size": 1}
LOCK_BOUNDS = {"customers": 3, "tickets": 4}
ALLOCATION_BOUNDS = {"brokers": 2, "ids": 6, "size": 2, "crashes": 1}
