"""What the transaction coordinator shows of its log: states follow on, epochs go up, outcomes are the owner's, and
answers say what the log says.

A coordinator that shows nothing is not judged here.
"""

from collections.abc import Iterator
from typing import NamedTuple

from fencepost.properties.driving import Event, read
from fencepost.properties.transactions.monitoring.facts import (
    ABORT,
    COMMIT,
    WORDS,
    Facts,
    Pair,
    Verdict,
    verdict,
)

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
NAMES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
IDLE = frozenset({EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT})
PREPARES = {PREPARE_COMMIT: COMMIT, PREPARE_ABORT: ABORT}
COMPLETES = {COMPLETE_COMMIT: COMMIT, COMPLETE_ABORT: ABORT}
BEFORE = {
    EMPTY: IDLE,
    ONGOING: IDLE | {ONGOING},
    PREPARE_COMMIT: {ONGOING},
    PREPARE_ABORT: {ONGOING},
    COMPLETE_COMMIT: {PREPARE_COMMIT},
    COMPLETE_ABORT: {PREPARE_ABORT},
}
"""Which states a state may follow; in v2 an abort of nothing is prepared from an idle state, too."""


class Logged(NamedTuple):
    """A record of the transaction log."""

    state: int
    pair: Pair


class Coordinator:
    """The transaction log, and the answers of whoever holds it.  ``last``: by transactional id, where it is known."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.last: dict[int, Logged] = {}
        self.outcome: dict[int, int] = {}  # of the latest Prepare
        self.ids: list[int] = []  # producer ids that the log has had
        self.timed_out: set[int] = set()  # transactional ids whose open transaction is to be aborted

    def look(self, event: Event) -> Iterator[Verdict]:
        """Judge one event."""
        handler = getattr(self, f"_{read(event, 'kind')}", None)
        if handler is not None:
            yield from handler(event)

    def moved(self, durable: bool) -> None:
        """Another coordinator.  ``durable``: what was being appended made it into the log, and nobody has said what."""
        if durable:
            self.last.clear()
        self.timed_out.clear()

    def _timed_out(self, event: Event) -> Iterator[Verdict]:
        self.timed_out.add(read(event, "txn_id"))
        yield from ()

    def _id_expired(self, event: Event) -> Iterator[Verdict]:
        before = self.last.pop(read(event, "txn_id"), None)
        if before is not None and before.state not in IDLE:
            yield verdict("txn.20", f"an id expires in state {NAMES[before.state]}", event, before.pair)

    def _txn_logged(self, event: Event) -> Iterator[Verdict]:
        txn_id, state = read(event, "txn_id"), read(event, "state")
        now, before = Logged(state, (read(event, "producer_id"), read(event, "epoch"))), self.last.get(txn_id)
        self.last[txn_id] = now
        if before is None:
            yield from self._known(event, now.pair)
            if state in PREPARES:
                self.outcome[txn_id] = PREPARES[state]
            return
        yield from self._follows(event, before, now)
        yield from self._epoch(event, txn_id, before.pair, now.pair)
        if state in PREPARES:
            self.outcome[txn_id] = PREPARES[state]
            yield from self._bumped(event, txn_id, before, now)
            yield from self._decided(event, before, now)
        if state != ONGOING:
            self.timed_out.discard(txn_id)

    def _follows(self, event: Event, before: Logged, now: Logged) -> Iterator[Verdict]:
        empty_abort = self.facts.mode == "v2" and now.state == PREPARE_ABORT and before.state in IDLE
        if before.state in BEFORE[now.state] or empty_abort:
            return
        words = f"{NAMES[now.state]} follows {NAMES[before.state]}"
        decided = before.state in PREPARES and now.state in PREPARES | COMPLETES
        rule = "txn.P5" if decided else "txn.3" if now.state == EMPTY else "txn.5" if now.state == ONGOING else "txn.10"
        yield verdict(rule, words, event, before.pair)

    def _known(self, event: Event, pair: Pair) -> Iterator[Verdict]:
        if pair[0] not in self.ids:
            self.ids.append(pair[0])
        if pair[1] > self.facts.max_epoch or pair[1] < 0:
            yield verdict("txn.P7", f"epoch {pair[1]} of id {pair[0]} is beyond {self.facts.max_epoch}", event, pair)

    def _epoch(self, event: Event, txn_id: int, before: Pair, now: Pair) -> Iterator[Verdict]:
        if now[0] == before[0] and now[1] < before[1]:
            yield verdict("txn.P7", f"the epoch of id {now[0]} goes from {before[1]} to {now[1]}", event, now)
        elif now[0] != before[0] and now[0] in self.ids:
            yield verdict("txn.P7", f"id {now[0]} comes back after id {before[0]}", event, now)
        elif now[0] != before[0] and now[1] != 0:
            yield verdict("txn.4", f"a new id begins with epoch 0: id {now[0]} with {now[1]}", event, now)
        elif now[0] != before[0] and before[1] < self.facts.max_epoch - 1:
            yield verdict("txn.4", f"id {before[0]} is given up at epoch {before[1]}", event, now)
        yield from self._known(event, now)

    def _bumped(self, event: Event, txn_id: int, before: Logged, now: Logged) -> Iterator[Verdict]:
        """A client's end keeps the epoch, or bumps it once in v2; a fence comes on top of that."""
        facts, bump = self.facts, now.pair[1] - before.pair[1]
        own = int(facts.mode == "v2")
        least = own + (txn_id in self.timed_out)
        top = now.pair[1] >= facts.max_epoch
        if bump > own + 1:
            yield verdict(
                "txn.18", f"the end of a transaction takes epoch {before.pair[1]} to {now.pair[1]}", event, now.pair
            )
        elif bump < least and not top:
            rule = "txn.18" if txn_id in self.timed_out else "txn.9"
            words = f"{NAMES[now.state]} leaves the epoch at {now.pair[1]}, and it should be {least} higher"
            yield verdict(rule, words, event, now.pair)

    def _decided(self, event: Event, before: Logged, now: Logged) -> Iterator[Verdict]:
        """The outcome is what the owner asked for; or abort, if the owner was fenced first."""
        transaction = self.facts.by_pair.get(before.pair)
        if transaction is None or before.state != ONGOING:
            return
        outcome, number = PREPARES[now.state], transaction.number
        own = int(self.facts.mode == "v2")
        fenced = now.pair[1] - before.pair[1] != own or now.pair[1] >= self.facts.max_epoch
        if outcome not in transaction.asked and not (outcome == ABORT and fenced):
            words = f"the end of transaction {number} is {WORDS[outcome]}, which its owner did not ask for"
            yield verdict("txn.P5", words, event, transaction.pair)
        elif transaction.told not in (-1, outcome):
            words = f"the end of transaction {number} is {WORDS[outcome]}; its owner was told {WORDS[transaction.told]}"
            yield verdict("txn.P5", words, event, transaction.pair)

    def _init_handled(self, event: Event) -> Iterator[Verdict]:
        last = self.last.get(read(event, "txn_id"))
        if last is None or read(event, "error", 0):
            return
        pair = (read(event, "producer_id"), read(event, "epoch"))
        if last.state != EMPTY or last.pair != pair:
            words = f"InitProducerId is answered with {pair}, and the log says {NAMES[last.state]} of {last.pair}"
            yield verdict("txn.3", words, event, pair)

    def _end_handled(self, event: Event) -> Iterator[Verdict]:
        last, outcome = self.last.get(read(event, "txn_id")), read(event, "outcome")
        if last is None or read(event, "error", 0):
            return
        if (PREPARES | COMPLETES).get(last.state) != outcome:
            words = f"EndTxn ({WORDS[outcome]}) is answered without error, and the log says {NAMES[last.state]}"
            yield verdict("txn.P5", words, event, last.pair)

    def _add_handled(self, event: Event) -> Iterator[Verdict]:
        yield from self._in_transaction(event, "txn.6")

    def _partition_checked(self, event: Event) -> Iterator[Verdict]:
        yield from self._in_transaction(event, "txn.15")

    def _in_transaction(self, event: Event, rule: str) -> Iterator[Verdict]:
        last, pair = self.last.get(read(event, "txn_id")), (read(event, "producer_id"), read(event, "epoch"))
        if last is not None and not read(event, "error", 0) and last != Logged(ONGOING, pair):
            words = (
                f"a partition is said to be in a transaction of {pair}: the log says {NAMES[last.state]} of {last.pair}"
            )
            yield verdict(rule, words, event, pair, last.pair)

    def unfinished(self) -> Iterator[Verdict]:
        """When everything is quiet: what is still under way."""
        for last in self.last.values():
            if last.state not in IDLE:
                words = f"nothing happens any more, and the log says {NAMES[last.state]} of {last.pair}"
                yield verdict("txn.P10", words, None, last.pair)
