"""The final judgement: when a cluster has settled, is everything decided, read, and read by everybody alike?"""

from collections.abc import Iterator

from fencepost.properties.driving import Made, read
from fencepost.properties.transactions.driving.interface import READERS
from fencepost.properties.transactions.monitoring.clients import Clients
from fencepost.properties.transactions.monitoring.coordinator import Coordinator
from fencepost.properties.transactions.monitoring.facts import COMMIT, Facts, Transaction, Verdict, verdict
from fencepost.properties.transactions.monitoring.partitions import Partitions
from fencepost.properties.transactions.scenarios.settling import PROBE_READER, Probed, Settled


class Quiet:
    """Judges the results of `settling.settle` and `settling.probe`."""

    def __init__(self, facts: Facts, clients: Clients, coordinator: Coordinator, partitions: Partitions) -> None:
        self.facts, self.clients, self.coordinator, self.partitions = facts, clients, coordinator, partitions

    def look(self, made: Made) -> Iterator[Verdict]:
        """Judge what a call that settles has returned."""
        if made.call.name == "settle":
            result: Settled = made.result
            self.facts.now_ms += result.waited_ms
            self.facts.at_rest = result.quiet
            if not self.is_decidable():
                return
            if not result.quiet:
                yield self._hangs("requests are sent again without end", "result.quiet")
                return
            yield from self._unstable(result, made.call.get("reader"))
            yield from self._complete(result)
            yield from self.partitions.hanging()
            yield from self.coordinator.unfinished()
        elif made.call.name == "probe":
            yield from self._probed(made.result)

    def is_decidable(self) -> bool:
        """Is everything decided by now?  A transaction that nobody ends has timed out."""
        return True

    def _probed(self, result: Probed) -> Iterator[Verdict]:
        self.facts.now_ms += result.waited_ms
        if not self.facts.at_rest:  # then somebody else may have fenced it
            return
        if not result.ready:
            yield self._hangs("a new producer is not given the transactional id", "result.ready")
        elif result.unread:
            words = f"what a new producer commits is not to be read on partition {result.unread[0]}"
            yield self._hangs(words, "result.unread == ()")

    def _hangs(self, words: str, check: str) -> Verdict:
        """Whose fault it is nobody knows: any pair's."""
        return verdict("txn.P10", words, None, *self.facts.holders, check=check)

    def _complete(self, result: Settled) -> Iterator[Verdict]:
        """Readers who have read all there is."""
        complete = [{record for _, record in records} for records in result.records]
        for transaction in self.facts.transactions.values():
            yield from self._all_or_nothing(transaction, complete)
        for partition, (error, record) in enumerate(result.offsets, start=self.facts.partitions):
            at = partition - self.facts.partitions
            if error:
                words = f"an offset of partition {partition} is pending for ever: error {error}"
                yield self._hangs(words, f"result.offsets[{at}][0] == 0")
            newest = self.clients.committed.get(partition, -1)
            if not error and record < newest:
                words = f"the offset of record {newest} is lost, and its commit was acknowledged"
                owner = self.facts.of_record[newest].pair
                yield verdict("txn.P4", words, None, owner, check=f"result.offsets[{at}][1] >= {newest}")
        yield from self._alike(result)

    def _all_or_nothing(self, transaction: Transaction, complete: list[set[int]]) -> Iterator[Verdict]:
        number, pairs = transaction.number, self.facts.holders  # whoever hangs keeps everybody from reading
        data = {r: p for r, p in transaction.records.items() if p < len(complete) and r in transaction.acked}
        lost = [(r, p) for r, p in data.items() if r not in complete[p]]
        if lost and (transaction.told == COMMIT or len(lost) < len(data)):
            record, partition = lost[0]
            check = f"{record} in [record for _, record in result.records[{partition}]]"
            if transaction.told == COMMIT:
                words = (
                    f"record {record} is not to be read on partition {partition}; transaction {number} was told commit"
                )
                yield verdict("txn.P4", words, None, *pairs, check=check)
            else:
                words = (
                    f"record {record} of transaction {number} is not to be read on partition {partition}; others are"
                )
                yield verdict("txn.P2", words, None, *pairs, check=check)

    def _alike(self, result: Settled) -> Iterator[Verdict]:
        """Who read while transactions were open got what everybody gets."""
        for (reader, partition), seen in self.clients.read.items():
            if reader == READERS + PROBE_READER or partition >= len(result.records):
                continue
            now = result.records[partition]
            if tuple(seen) != now[: len(seen)]:
                words = f"reader {reader} has read {[r for _, r in seen]} of partition {partition}, and others now "
                words += f"{[r for _, r in now[: len(seen) + 1]]}"
                check = f"result.records[{partition}][:{len(seen)}] == {tuple(seen)!r}"
                yield verdict("txn.P4", words, None, *self.facts.holders, check=check)

    def _unstable(self, result: Settled, reader: int) -> Iterator[Verdict]:
        """Everything written lies below the last stable offset."""
        for partition, written in enumerate(result.written):
            fetch = self.clients.fetches.get((READERS + reader, partition))
            upto = read(fetch or {}, "upto")
            if fetch is not None and written and written[-1][0] >= upto:
                offset, record = written[-1]
                words = f"nothing happens any more, and record {record} at {partition}:{offset} is not below {upto}, "
                words += "the last stable offset"
                check = f"not any(offset >= {upto} for offset, _ in result.written[{partition}])"
                yield verdict("txn.P10", words, None, *self.facts.holders, check=check)


class QuietOverTheWire(Quiet):
    """Where nobody waits for time-outs: whatever is open was fenced, or nothing can be said."""

    def is_decidable(self) -> bool:
        transactions = self.facts.transactions.values()
        return all(t.told >= 0 or not t.records or self.facts.is_fenced(t.pair) for t in transactions)
