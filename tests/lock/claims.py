"""What the lock promises, why that is so, and the variants that are judged."""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, lemma, promise, service, witness
from fencepost.properties.entries import ProtocolEntry, Variant

from .model import Client, Lock


class LockProperties(Properties, of=Lock):
    """Of one lock and one store."""

    @promise(rule="lock.P1")
    def newest_stays(s):
        """What the store has is of the newest lease under which anything was written."""
        return s.stored == s.newest

    @promise(rule="lock.P2")
    def tokens_unique(s):
        """No two clients hold one token."""
        return forall(Client, Client, lambda c, d: implies((s.held[c] == s.held[d]) & (s.held[c] > 0), c == d))

    @service(rule="lock.P3")
    def newest_writes(s, c: Client):
        """A client with the newest lease writes, unless there is a newer one by then."""
        return leads_to((s.held[c] > 0) & (s.held[c] == s.issued), (s.stored == s.held[c]) | (s.held[c] < s.issued))

    @lemma
    def held_is_issued(s):
        """A client holds no token that was not issued."""
        return forall(Client, lambda c: s.held[c] <= s.issued)

    @witness(of="newest_stays")
    def a_late_write(s):
        """A client whose lease is over is about to write over what a newer lease wrote."""
        return exists(Client, lambda c: (s.held[c] > 0) & (s.held[c] < s.stored))

    @witness(of="newest_writes")
    def never_wrote(s):
        """There is a second lease, and nothing was written yet."""
        return (s.issued == 2) & (s.stored == 0)

    @witness(of="tokens_unique")
    def two_holders(s):
        """Two clients believe to hold the lock."""
        return exists(Client, Client, lambda c, d: (s.held[c] > 0) & (s.held[d] > s.held[c]))


BOUNDS = {"smoke": dict(clients=2, leases=3), "ci": dict(clients=3, leases=4), "nightly": dict(clients=3, leases=6)}

FENCED = Variant(
    "fenced", LockProperties, "tokens grow, and the store looks at them",
    bounds=BOUNDS, progress_bounds=(BOUNDS["smoke"],),
)  # fmt: skip
UNFENCED = Variant(
    "unfenced", LockProperties, "the store takes every write", "lock.3", ("lock.3", "write: guard 1 dropped"),
    {"newest_stays": "violated"}, BOUNDS, asks=("tokens_unique",),
)  # fmt: skip

ENTRIES = (
    ProtocolEntry(
        "lock",
        "A lock with fencing tokens: a client whose lease is over does no harm.",
        (FENCED, UNFENCED),
        {"clients": "one whose lease is over, and the one after it", "leases": "a lease for each, and one to come"},
    ),
)
