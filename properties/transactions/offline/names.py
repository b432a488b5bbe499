"""The model's small numbers for what is in one lane of a history, and how many of each there is room for."""

from collections.abc import Sequence

from fencepost.properties.transactions.offline.unfollowed import MOST, TOO_MANY, Undecidable
from fencepost.properties.transactions.online.numbering import Numbering

NOWHERE = -2  # the number of a pair that there is not
SPARE = 4  # epochs that a producer id has left, where the model's last one is not Kafka's


class Names:
    """Clients, transactions and producer ids get numbers in the order in which they appear, coordinators in that in
    which they loaded the log: one that went away before has done nothing.

    ``last``: the model's last epoch; ``cut_short``: it is smaller than Kafka's; ``loaded``: coordinator epochs.
    ``largest`` number of a pair so far; ``last_term``: one more than any coordinator's.
    """

    def __init__(self, last: int, *, cut_short: bool, loaded: Sequence[int]) -> None:
        self.numbering, self.cut_short, self.largest = Numbering(last), cut_short, 0
        self.clients: dict[int, int] = {}
        self.txns: dict[int, int] = {}
        self._terms = {epoch: 1 + place for place, epoch in enumerate(loaded)}
        self.last_term = min(len(loaded), MOST["fail_overs"]) + 1
        self._fail_overs = 0
        self._always = min(MOST.values())  # of everything there is room for so many

    def told(self) -> str:
        """Which number is whose."""
        last, found = self.numbering.last, []
        for what, names in (("client", self.clients), ("transaction", self.txns)):
            found += [f"{what} {number} is {name}" for name, number in names.items()]
        for producer_id, rank in self.numbering.ranks.items():
            base = self.numbering.base(rank)
            found.append(f"numbers {base} to {base + last + 1} are epochs of producer id {producer_id}")
        return "; ".join(found)

    def client(self, client: int) -> int:
        return self.clients.setdefault(client, len(self.clients))

    def txn(self, txn: int) -> int:
        return self.txns.setdefault(txn, len(self.txns))

    def term(self, epoch: int) -> int:
        """The place among those that loaded the log; a stranger's is one too many."""
        return 0 if epoch <= 0 else min(self._terms.get(epoch, self.last_term), self.last_term)

    def number(self, producer_id: int, epoch: int) -> int:
        """Of a pair.  Raises `Undecidable`."""
        last = self.numbering.last
        if self.cut_short and epoch + SPARE > last:
            raise Undecidable(f"an epoch is larger than {last - SPARE}")
        if epoch > last + 1:
            return NOWHERE
        number = self.numbering.number(producer_id, epoch)
        self.largest = max(self.largest, number)
        return number

    def require_room(self, partition: int) -> None:
        """Raises `Undecidable`."""
        always, clients, txns = self._always, len(self.clients), len(self.txns)
        if self.largest <= always and txns <= always and clients <= always and partition < always:
            return
        used = {"clients": clients, "transactions": txns, "partitions": partition + 1, "pairs": self.largest}
        for name, of_it in used.items():
            _require(name, of_it)

    def require_fail_over(self) -> None:
        """Room for one more.  Raises `Undecidable`."""
        self._fail_overs += 1
        _require("fail_overs", self._fail_overs)


def _require(name: str, of_it: int) -> None:
    if of_it > MOST[name]:
        raise Undecidable(TOO_MANY.format(name.replace("_", "-"), MOST[name]))
