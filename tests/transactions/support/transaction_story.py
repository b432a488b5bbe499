"""This module builds histories of transactions step by step, without a simulation, loss, delay or concurrency.

    story = Story("v2")
    story.init(1)
    story.begin(1)
    story.send(1, 0)
    story.end(1, COMMIT)
    story.read(1000, 0)

`story.columns(history)` returns the columns of one history without violations, in which tests change one event.
"""

from collections import defaultdict

from fencepost.properties.transactions.events.kinds import ABORT, COMMIT, TRANSACTIONS, Kind, State
from reported import Reported

Pair = tuple[int, int]


class Story(Reported):
    """A `Story` has one transactional id, `partitions` data partitions, and one offsets partition after them."""

    vocabulary = TRANSACTIONS

    def __init__(self, mode: str = "v2", partitions: int = 2) -> None:
        super().__init__()
        self.mode, self.offsets_partition = mode, partitions
        self.pair: Pair = (0, -1)  # as the coordinator knows it
        self.state = State.Empty
        self.added: list[int] = []
        self._pairs: dict[int, Pair] = {}  # by client
        self._txns: dict[int, int] = {}
        self._counts: dict[str, int] = defaultdict(int)
        self._logs: dict[int, list[int]] = defaultdict(list)  # records by offset; -1 is a marker
        self._open: dict[int, int] = {}  # first offset by partition
        self._committed: dict[int, set[int]] = defaultdict(set)
        self._pending: dict[int, list[int]] = defaultdict(list)
        self._sequences: dict[tuple[int, Pair], int] = defaultdict(int)
        self._positions: dict[tuple[int, int], int] = defaultdict(int)

    def init(self, client: int) -> None:
        """Start and initialise a new instance, which ends an open transaction."""
        self.emit(Kind.client_started, client=client, txn_id=0)
        request, pair = self._initialised(client)
        self.emit(Kind.init_taken, client=client, request=request, producer_id=pair[0], epoch=pair[1])
        self._pairs[client] = pair

    def fence(self, admin: int) -> None:
        """Call Admin.fenceProducers, like `init` by an instance that never writes."""
        request, pair = self._initialised(admin)
        self.emit(Kind.fence_told, client=admin, txn_id=0, request=request, producer_id=pair[0], epoch=pair[1])

    def _initialised(self, client: int) -> tuple[int, Pair]:
        request = self._next("request")
        self.emit(Kind.init_sent, client=client, txn_id=0, request=request)
        if self.state == State.Ongoing:
            self._ended(ABORT, bumps=2 if self.mode == "v2" else 1)
        self.pair = (self.pair[0], self.pair[1] + 1)
        self._log(State.Empty)
        self.emit(Kind.init_handled, txn_id=0, request=request, **_columns(self.pair))
        return request, self.pair

    def begin(self, client: int) -> int:
        """Begin the client's next transaction and return its number."""
        self._txns[client] = self._next("txn")
        self.emit(Kind.txn_begun, client=client, txn_id=0, txn=self._txns[client], **_columns(self._pairs[client]))
        return self._txns[client]

    def send(self, client: int, partition: int, acked: bool = True) -> int:
        """Send a record that is appended and acknowledged, and return its number."""
        pair, record = self._pairs[client], self._next("record")
        if self.mode != "v2" and partition not in self.added:
            self._add(client, partition)
        sequence = -1  # TxnOffsetCommit carries none
        if partition != self.offsets_partition:
            sequence = self._sequences[partition, pair]
            self._sequences[partition, pair] += 1
        request = self._next("request")
        batch = {"partition": partition, "record": record, "sequence": sequence, "request": request, **_columns(pair)}
        self.emit(Kind.record_sent, client=client, txn_id=0, txn=self._txns[client], **batch)
        if self.mode != "v1" and partition not in self._open:
            self._check(partition, request)
        offset = len(self._logs[partition])
        self._logs[partition].append(record)
        self._open.setdefault(partition, offset)
        self._pending[partition].append(record)
        self.emit(Kind.batch_appended, node=0, offset=offset, **batch)
        if acked:
            reported = {"partition": partition, "record": record, "request": request, "offset": offset}
            self.emit(Kind.record_acked, client=client, txn=self._txns[client], **reported)
        return record

    def repeat(self, record: int) -> None:
        """Deliver a late copy of a record's produce request, which is answered as a duplicate."""
        batch = next(row for row in self.rows if row["kind"] == Kind.batch_appended and row["record"] == record)
        self.emit(Kind.batch_duplicate, **{name: value for name, value in batch.items() if name != "kind"})

    def _add(self, client: int, partition: int) -> None:
        request = self._next("request")
        about = {"partition": partition, "request": request}
        own = {"client": client, "txn": self._txns[client], **about}
        self.emit(Kind.add_sent, txn_id=0, **own, **_columns(self._pairs[client]))
        self.added.append(partition)
        self._log(State.Ongoing)
        self.emit(Kind.add_handled, txn_id=0, **about, **_columns(self.pair))
        self.emit(Kind.add_taken, **own)

    def _check(self, partition: int, request: int) -> None:
        about = {"node": 0, "partition": partition, "request": request, **_columns(self.pair)}
        self.emit(Kind.check_asked, **about)
        if self.mode == "v2":
            self.added.append(partition)
            self._log(State.Ongoing)
        self.emit(Kind.partition_checked, txn_id=0, **about)

    def end(self, client: int, outcome: int, reported: bool = True) -> None:
        """End the client's transaction, without an answer if it crashes first."""
        request, txn = self._next("request"), self._txns[client]
        about = {"outcome": outcome, "request": request}
        self.emit(Kind.end_sent, client=client, txn_id=0, txn=txn, **about, **_columns(self._pairs[client]))
        self._ended(outcome, bumps=1 if self.mode == "v2" else 0, request=request)
        self._pairs[client] = self.pair
        if reported:
            self.emit(Kind.end_told, client=client, txn=txn, **about, **_columns(self.pair))

    def _ended(self, outcome: int, bumps: int, request: int | None = None) -> None:
        self.pair = (self.pair[0], self.pair[1] + bumps)
        self._log(State.PrepareCommit if outcome == COMMIT else State.PrepareAbort)
        if request is not None:
            self.emit(Kind.end_handled, txn_id=0, outcome=outcome, request=request, **_columns(self.pair))
        for partition in self.added:
            self._mark(partition, outcome)
        self.added = []
        self._log(State.CompleteCommit if outcome == COMMIT else State.CompleteAbort)

    def _mark(self, partition: int, outcome: int) -> None:
        marker = {"partition": partition, **_columns(self.pair)}
        offset = len(self._logs[partition])
        self._logs[partition].append(-1)
        self.emit(Kind.marker_appended, node=0, offset=offset, outcome=outcome, coordinator_epoch=0, **marker)
        if outcome == COMMIT:
            self._committed[partition] |= set(self._pending[partition])
        self._pending[partition] = []
        self._open.pop(partition, None)
        self.emit(Kind.stable_moved, partition=partition, upto=offset + 1)
        self.emit(Kind.marker_acked, txn_id=0, **marker)

    def _log(self, state: State) -> None:
        self.state = state
        self.emit(Kind.txn_logged, node=0, txn_id=0, state=state, coordinator_epoch=0, **_columns(self.pair))

    def read(self, reader: int, partition: int) -> None:
        """Let a read_committed reader fetch all available records from its position."""
        begin, log = self._positions[reader, partition], self._logs[partition]
        end = self._open.get(partition, len(log))
        self.emit(Kind.fetched, client=reader, partition=partition, offset=begin, upto=end)
        for offset in range(begin, end):
            if log[offset] in self._committed[partition]:
                self.emit(Kind.record_read, client=reader, partition=partition, offset=offset, record=log[offset])
        self._positions[reader, partition] = end

    def see(self, reader: int, partition: int) -> None:
        """Let a read_uncommitted reader get all records of the partition."""
        for offset, record in enumerate(self._logs[partition]):
            if record >= 0:
                self.emit(Kind.record_seen, client=reader, partition=partition, offset=offset, record=record)

    def fetch_offset(self, reader: int) -> None:
        """Let OffsetFetch return the latest committed record of the offsets partition."""
        latest = max(self._committed[self.offsets_partition], default=-1)
        self.emit(Kind.offset_fetched, client=reader, partition=self.offsets_partition, record=latest)

    def _next(self, what: str) -> int:
        self._counts[what] += 1
        return self._counts[what] - 1


def _columns(pair: Pair) -> dict[str, int]:
    return {"producer_id": pair[0], "epoch": pair[1]}
