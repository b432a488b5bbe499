"""Small protocols on which the Z3 engines are tested; their properties hold or fail for reasons a reader can check by eye."""

from fencepost.model.language import (
    Constant,
    Enumeration,
    Ghost,
    Map,
    Nat,
    Option,
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
    forall,
    implies,
    lemma,
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


class Allocation(Protocol):
    """A controller hands out blocks [next, next + size) to brokers, and each broker hands out the ids of its block."""

    size: Constant[Nat]
    next: Id
    has: Set[Broker]
    first: Map[Broker, Id]
    cursor: Map[Broker, Id]
    end: Map[Broker, Id]
    used: Ghost[Map[Id, Nat]]

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
