"""The history properties of transactions are fulfilled, violated, and described in words."""

from collections.abc import Callable

import numpy as np
import pytest
from fencepost.proofs.scale.replay import check_columns
from fencepost.properties.history.vocabulary import HistoryError
from fencepost.properties.transactions.events.kinds import ABORT, COMMIT, Kind
from fencepost.properties.transactions.histories import view
from fencepost.properties.transactions.histories.properties import HISTORY as transactions
from fencepost.properties.transactions.histories.properties import SEEDED_HISTORY
from transaction_story import Story

MODES = ("v1", "v1-verified", "v2")


def violated(story: Story, **config: object) -> dict[str, int]:
    """Return the number of violations by property, of those that the story's mode promises."""
    columns = story.columns(4)
    promised = [
        name for name, reported in transactions.properties.items() if not reported.modes or story.mode in reported.modes
    ]
    findings, _ = transactions.check(columns, promised, {"mode": story.mode, "quiet_end": True, **config})
    return {name: found.violations for name, found in findings.items() if found.violations}


def two_transactions(story: Story, outcome: int = COMMIT) -> None:
    """Let one instance end two transactions over all partitions, with a read after each."""
    story.init(1)
    for _ in range(2):
        story.begin(1)
        for partition in (0, 1, 0, story.offsets_partition):
            story.send(1, partition)
        story.end(1, outcome)
        story.read(1000, 0)
        story.fetch_offset(1000)


def fenced_amid(story: Story) -> None:
    """Let a successor, and then an admin, fence an open transaction."""
    story.init(1)
    story.begin(1)
    story.send(1, 0)
    story.init(2)
    story.begin(2)
    story.send(2, 0)
    story.fence(3)
    story.init(4)
    story.begin(4)
    story.send(4, 0)
    story.end(4, COMMIT)
    story.read(1000, 0)


def skips(story: Story) -> None:
    """Let a reader begin in the middle and skip records while writes interleave, which Jepsen allows."""
    two_transactions(story)
    story.emit(Kind.fetched, client=1001, partition=0, offset=3, upto=5)
    story.emit(Kind.record_read, client=1001, partition=0, offset=3, record=4)
    story.emit(Kind.record_read, client=1001, partition=0, offset=4, record=6)
    story.emit(Kind.leader_changed, node=0, partition=0)


def read_by_many(story: Story) -> None:
    """Let several readers, committed and not, get the same records at the same offsets."""
    two_transactions(story)
    for reader in (1001, 1002):
        story.read(reader, 0)
        story.read(reader, 1)
        story.see(reader + 10, 0)


def still_open(story: Story) -> None:
    """Leave a transaction open at the end of the history, before which the reader stops."""
    two_transactions(story)
    story.begin(1)
    story.send(1, 0, acked=False)
    story.read(1000, 0)


def expired(story: Story) -> None:
    """Let an id be forgotten and start again with another producer id."""
    two_transactions(story)
    story.emit(Kind.id_expired, txn_id=0)
    story.pair = (7, -1)
    story.init(2)


GOOD: dict[str, Callable[[Story], None]] = {
    "commits": two_transactions,
    "aborts": lambda story: two_transactions(story, ABORT),
    "fences": fenced_amid,
    "what Jepsen allows": skips,
    "many readers": read_by_many,
    "an open end": still_open,
    "an expired id": expired,
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", GOOD)
def test_stories_that_keep_every_promise(name: str, mode: str) -> None:
    story = Story(mode)
    GOOD[name](story)
    assert violated(story) == {}


def test_a_transaction_that_another_process_resumes_is_refused() -> None:
    """A sink resumes the old pair at its recovery, which is correct but not an action of a broker."""
    columns = SEEDED_HISTORY.history.columns()
    [row] = np.flatnonzero(columns["kind"] == Kind.end_sent)[:1]
    resumed = {name: column.copy() for name, column in columns.items()}
    resumed["client"][row] = 99
    began, txn, step = (columns[name][row] for name in ("client", "txn", "step"))
    text = f"step {step}: client 99 goes on with transaction {txn}, which client {began} began"
    with pytest.raises(HistoryError, match=text):
        check_columns(resumed, 1, "transactions", (), (), {})
    assert check_columns(columns, 1, "transactions", (), (), {}).findings == {}


WITNESSES = {
    "torn, its end untold": (
        "transactions_whole",
        "fetched at step 174 (partition 1 offset 6, client 1000, upto 8): others of the transaction were read, but not "
        "what was acknowledged by record acked at step 154 (partition 1 offset 6, client 1, transaction 4, record 13)",
    ),
    "sent by a zombie": (
        "fenced_unread",
        "record read at step 173 (partition 0 offset 11, client 1000, record 14): first sent after its pair had been "
        "fenced by init taken at step 147 (producer id 0 epoch 6, client 1)",
    ),
    "completed before a marker": (
        "completed_after_markers",
        "txn logged at step 247 (producer id 0 epoch 11, transactional id 0, state CompleteCommit, coordinator epoch "
        "0): not closed yet is batch appended at step 237 (partition 2 offset 8, producer id 0 epoch 10, record 20)",
    ),
    "end answered early": (
        "ends_answered_as_logged",
        "end handled at step 240 (producer id 0 epoch 11, transactional id 0, outcome commit): durable only by txn "
        "logged at step 241 (producer id 0 epoch 11, transactional id 0, state PrepareCommit, coordinator epoch 0)",
    ),
    "marker of nothing": (
        "markers_as_prepared",
        "marker appended at step 270 (partition 0 offset 17, producer id 0 epoch 12, outcome abort, coordinator epoch "
        "0): no such Prepare is in the transaction log",
    ),
}


@pytest.mark.parametrize("violation", WITNESSES)
def test_the_first_witness_in_words(violation: str) -> None:
    name, words = WITNESSES[violation]
    findings, _ = transactions.check(SEEDED_HISTORY.edited(violation), [name], {"quiet_end": True})
    assert findings[name].first is not None
    assert findings[name].first.told == words


def test_a_fetch_that_ends_the_history_is_not_judged_unless_it_is_complete() -> None:
    story = Story()
    story.init(1)
    story.begin(1)
    story.send(1, 0)
    story.send(1, 0)
    story.end(1, COMMIT)
    story.read(1000, 0)
    story.rows.pop()
    assert violated(story, quiet_end=False) == {}
    assert violated(story, quiet_end=True) == {"commits_kept": 1, "transactions_whole": 1}


def test_epochs_end_where_the_config_says() -> None:
    """`max_epoch` is reserved, so that epoch 2 is correct below 3, and a violation below 2."""
    story = Story("v1")
    for client in (1, 2, 3):
        story.init(client)
    assert violated(story, max_epoch=3) == {}
    assert violated(story, max_epoch=2) == {"epochs_in_range": 1}


def test_a_replaced_producer_id_leaves_older_ones_behind() -> None:
    """A request with the id before last is fenced, though its epoch is greater than any of the new id."""
    story = Story("v1")
    story.init(1)
    story.init(2)
    old = story.pair
    story.pair = (1, -1)
    story.init(3)
    story.emit(Kind.txn_begun, client=2, txn_id=0, txn=0, producer_id=old[0], epoch=old[1])
    sent = {"partition": 0, "record": 0, "producer_id": old[0], "epoch": old[1]}
    story.emit(Kind.record_sent, client=2, txn_id=0, txn=0, sequence=0, **sent)
    story.emit(Kind.end_sent, client=2, txn_id=0, txn=0, outcome=COMMIT, producer_id=old[0], epoch=old[1])
    story.emit(Kind.record_read, client=1000, partition=0, offset=0, record=0)
    findings, _ = transactions.check(story.columns(), ["fenced_unread"])
    assert findings["fenced_unread"].violations == 1
    story.rows = [row for row in story.rows if row.get("client") != 3]
    findings, _ = transactions.check(story.columns(), ["fenced_unread"])
    assert findings["fenced_unread"].violations == 0


@pytest.mark.parametrize(
    "excuse",
    [
        "another instance", "an admin", "a time-out", "an expiry", "a fail-over", "a copy", "a copy with a pair",
        "an attempt that was given up",
    ],
)  # fmt: skip
def test_a_client_that_may_have_been_fenced_is_excused(excuse: str) -> None:
    """Any other bump of the epoch is an excuse, but the client's own retry with a pair is not."""
    story = Story()
    story.init(1)
    story.emit(Kind.init_sent, client=1, txn_id=0, request=50, producer_id=0, epoch=0)
    story.emit(Kind.init_handled, txn_id=0, request=50, error=51)
    story.emit(Kind.client_failed, client=1, error=90)
    assert violated(story) == {"lone_client_never_fenced": 1}
    match excuse:
        case "another instance":
            story.emit(Kind.init_sent, client=2, txn_id=0, request=51)
            story.emit(Kind.client_stopped, client=2)
        case "an admin":
            story.emit(Kind.fence_told, client=2, txn_id=0, request=51, error=51)
        case "a time-out":
            story.emit(Kind.timed_out, txn_id=0, producer_id=0, epoch=0)
        case "an expiry":
            story.emit(Kind.id_expired, txn_id=0)
        case "a fail-over":
            story.emit(Kind.coordinator_loaded, coordinator_epoch=1)
        case "a copy":
            story.emit(Kind.init_handled, txn_id=0, request=0, error=51)
        case "a copy with a pair":
            story.emit(Kind.init_taken, client=1, request=50, error=51)
            story.emit(Kind.init_handled, txn_id=0, request=50, error=51)
        case "an attempt that was given up":
            story.emit(Kind.init_sent, client=1, txn_id=0, request=51, producer_id=0, epoch=0)
            story.emit(Kind.init_taken, client=1, request=51, producer_id=0, epoch=1)
            story.emit(Kind.init_handled, txn_id=0, request=50, error=51)
    assert violated(story) == {}


class MarkedAgain(Story):
    """In this story the last marker of the partition arrives again after each verification."""

    def _check(self, partition: int, request: int) -> None:
        super()._check(partition, request)
        if self._logs[partition]:
            self._mark(partition, COMMIT)


@pytest.mark.parametrize(("mode", "found"), [("v1-verified", 1), ("v2", 0)])
def test_a_late_copy_of_the_marker_before(mode: str, found: int) -> None:
    """KAFKA-18654: In v2 the late copy has the epoch of the transaction being verified, and leaves the answer valid.
    With verification alone it has that of any transaction, and the leader has to verify again."""
    story = MarkedAgain(mode)
    story.init(1)
    for _ in range(2):
        story.begin(1)
        story.send(1, 0)
        story.end(1, COMMIT)
    assert violated(story).get("appended_while_added", 0) == found
    checks = [at for at, row in enumerate(story.rows) if row["kind"] == Kind.partition_checked]
    del story.rows[checks[-1]]
    assert violated(story)["appended_while_added"] == 1


class FencedOnce(Story):
    """In Kafka since KAFKA-19367 the bump of an abort is its fence."""

    def _ended(self, outcome: int, bumps: int, request: int | None = None) -> None:
        super()._ended(outcome, 1, request)


def test_a_fence_of_one_epoch() -> None:
    """An abort without a request in Kafka 4.0.0 is a fence in 4.3, but a commit still needs a request."""
    story = FencedOnce()
    fenced_amid(story)
    assert violated(story) == violated(story, release="4.0") == {"prepared_as_asked": 2}
    assert violated(story, release="4.3") == {}
    unasked = [row for row in story.rows if row["kind"] != Kind.end_sent]
    assert len(unasked) == len(story.rows) - 1
    story.rows = unasked
    assert violated(story, release="4.3")["prepared_as_asked"] == 1


def test_sequence_numbers_wrap_to_zero() -> None:
    story = Story()
    story.init(1)
    story.begin(1)
    for sequence in (2**31 - 2, 2**31 - 1, 0, 1):
        story.send(1, 0)
        story.rows[-2]["sequence"] = sequence
    assert violated(story) == {}
    story.rows[-2]["sequence"] = 2
    assert violated(story) == {"sequences_follow_on": 1}


def test_figures_count_what_became_of_transactions() -> None:
    """The expected figures of the example history were counted by hand."""
    _, figures = transactions.check(SEEDED_HISTORY.history.columns(), [])
    assert figures == {
        "transactions": 7, "told_committed": 4, "told_aborted": 1, "records_sent": 21, "records_acked": 21,
        "records_read": 12, "fences": 4,
    }  # fmt: skip


def test_many_readers_that_start_over(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    two_transactions(story)
    for reader in range(2000, 2020):
        story.read(reader, 0)
        story.rows.pop(-(reader % 3) - 1)
        story.emit(Kind.leader_changed, node=0, partition=0)
    whole = violated(story)
    assert whole["commits_kept"] == 20
    for pairs in (1, 3, 7):
        monkeypatch.setattr(view, "PAIRS", pairs)
        assert violated(story) == whole


@pytest.mark.parametrize("name", ["fenced_unread", "fenced_appends_unread", "fenced_never_commit"])
def test_what_is_said_of_fenced_pairs_judges_fenced_pairs(name: str) -> None:
    columns = SEEDED_HISTORY.history.columns()
    judged = transactions.check(columns, [name])[0][name].judged
    assert 0 < judged < len(columns["kind"])
    unreachable = {**columns, "epoch": np.zeros_like(columns["epoch"])}
    assert transactions.check(unreachable, [name])[0][name].judged == 0
