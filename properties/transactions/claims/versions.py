"""What transactions keep while transaction.version is changed."""

from fencepost.model.language import exists, witness
from fencepost.model.transactions.abstract.core import Fate, Partition, Phase, Txn
from fencepost.model.transactions.abstract.versions import OneEpoch, TwoVersions
from fencepost.properties.transactions.claims.promises import Promises


class VersionsPromises(Promises, of=TwoVersions):
    """The promises of one transactional id whose owners use different transaction versions."""

    @witness(of="nothing_hangs")
    def open_over_the_change(s):
        """A transaction of v1 is prepared and has a record open, and the version is 2."""
        return (
            s.second & ~s.prepared_second & (s.phase == Phase.PREPARED)
            & exists(Txn, Partition, lambda t, p: s.fate[t, p] == Fate.OPEN)
        )  # fmt: skip

    @witness(of="nothing_lost")
    def one_of_each(s):
        """A transaction of v1 is committed, and one of v2 in the same partition."""
        return exists(
            Txn, Txn, Partition,
            lambda t, u, p: s.begun[t] & ~s.bumps[t] & s.bumps[u] & (s.fate[t, p] == Fate.COMMITTED)
            & (s.fate[u, p] == Fate.COMMITTED),
        )  # fmt: skip


class OneEpochPromises(Promises, of=OneEpoch):
    """Where a producer keeps its epoch when the version changes."""
