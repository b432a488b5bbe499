"""A lock service leases one lock, each lease under a token; a store takes the writes of the client that holds one.

A lease ends at any time, and its client, which may be paused, does not notice.  Left out: requests and answers, and
what is written.
"""

from fencepost.model.language import (
    Ghost,
    Map,
    Nat,
    Option,
    Protocol,
    Sort,
    action,
    danger,
    exists,
    limit,
    not_of_this,
    require,
    when,
)
from fencepost.model.rules import add_rules

add_rules("lock", "a lock with fencing tokens", """
lock.P1 promise   What the store has is of the newest lease that wrote.
lock.P2 promise   No token is given to two clients.
lock.P3 promise   Who has the newest lease gets to write.
lock.1  mechanism Each lease has a greater token than all before.
lock.2  mechanism The lock is leased to one client at a time.
lock.3  mechanism The store refuses a token that is older than that of what it has.
""")  # fmt: skip


class Client(Sort, bound="clients"):
    """A client of the lock service and of the store."""


class Token(Nat, upto="leases"):
    """The number of a lease, from 1; 0 is none."""


class Lock(Protocol):
    """The service and the store, and what each client believes to hold."""

    owner: Option[Client]  # whose lease runs
    issued: Token  # the newest token
    held: Map[Client, Token]  # under which a client writes, though its lease may be over
    stored: Token  # under which the store's content was written
    newest: Ghost[Token]  # the greatest under which anything was written

    outside = not_of_this("it is no part of Kafka")

    @action
    def acquire(s, c: Client, t: Token):
        """The service leases the lock."""
        require(s.owner == None, rule="lock.2")  # noqa: E711
        require(s.issued < t, rule="lock.1")
        limit(t <= s.issued + 1)
        s.owner = c
        s.issued = t
        s.held[c] = t

    @action(danger="time-out")
    def expire(s):
        """The lease ends, and its client goes on."""
        require(s.owner != None)  # noqa: E711
        s.owner = None

    @action(fair="weak")
    def write(s, c: Client):
        """The store takes a write."""
        require(s.held[c] > 0)
        require(s.stored <= s.held[c], rule="lock.3")
        s.stored = s.held[c]
        s.newest = when(s.newest < s.held[c], s.held[c], s.newest)

    @action
    def refuse(s, c: Client):
        """The store refuses a write, and the client gives up."""
        require((s.held[c] > 0) & (s.held[c] < s.stored))
        s.held[c] = 0

    @danger("zombie")
    def writes_late(s):
        """A client whose lease is over can still write, and so can the one after it."""
        return exists(Client, Client, lambda c, d: (s.held[c] > 0) & (s.held[c] < s.held[d]) & (s.owner == d))
