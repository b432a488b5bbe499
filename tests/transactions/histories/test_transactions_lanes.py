"""A history of transactions is split by transactional ids, and each record of the log is assigned to its request."""

from fencepost.properties.transactions.events.driven import HISTORY_COLUMNS
from fencepost.properties.transactions.events.kinds import (
    BESIDE,
    ERASED,
    FORGOTTEN,
    LATE_RECORD,
    OLD_LEFT,
    TRANSACTIONS,
    UNREPORTED,
    Kind,
    State,
)
from fencepost.properties.transactions.translator.history import LEFT_OUT, READ_COLUMNS, Event, History
from fencepost.properties.transactions.translator.one_id import EVERY_ROW, WIDTH, OneId

Events = dict[str, list[int]]
ABSENT = {column.name: column.absent for column in TRANSACTIONS.columns}
PAIR = {"producer_id": 3, "epoch": 0}


def events(*rows: tuple[Kind, dict[str, int]]) -> Events:
    """Return the columns of these events."""
    full = [{**ABSENT, "kind": int(kind), **values} for kind, values in rows]
    return {name: [row[name] for row in full] for name in READ_COLUMNS}


def init(client: int, request: int, txn_id: int = 0, **pair: int) -> tuple[Kind, dict[str, int]]:
    return Kind.init_sent, {"client": client, "request": request, "txn_id": txn_id, **pair}


def handled(request: int, error: int = 0, **pair: int) -> tuple[Kind, dict[str, int]]:
    return Kind.init_handled, {"request": request, "txn_id": 0, "error": error, **pair}


def logged(state: State, **values: int) -> tuple[Kind, dict[str, int]]:
    return Kind.txn_logged, {"txn_id": 0, "state": state, "coordinator_epoch": 0, **PAIR, **values}


def add(txn: int, partition: int, request: int) -> tuple[Kind, dict[str, int]]:
    sent = {"client": 0, "txn_id": 0, "txn": txn, "partition": partition, "request": request, **PAIR}
    return Kind.add_sent, sent


def sent(txn: int, record: int, request: int) -> tuple[Kind, dict[str, int]]:
    about = {"client": 0, "txn_id": 0, "txn": txn, "partition": 0, "record": record, "sequence": record, **PAIR}
    return Kind.record_sent, {**about, "request": request}


def appended(record: int, request: int) -> tuple[Kind, dict[str, int]]:
    return Kind.batch_appended, {"partition": 0, "record": record, "sequence": record, "request": request, **PAIR}


MARKER = (Kind.marker_appended, {"partition": 0, "outcome": 1, "coordinator_epoch": 0, **PAIR})


def history_of(rows: Events) -> History:
    kept = [values for values in zip(*rows.values(), strict=True) if values[0] not in LEFT_OUT]
    return History([Event(row, *values) for row, values in enumerate(kept)])


def followed(rows: Events, *, bumps: bool = False, verifies: bool = False) -> OneId:
    history = history_of(rows)
    return OneId(history, min(history.ids), 14, 32766, bumps=bumps, verifies=verifies)


def laid_out(rows: Events, *, bumps: bool = False) -> tuple[str, list[dict[str, int]]]:
    """Return why the first transactional id is not followed to its end, if so, and its events as columns by name."""
    one, found = followed(rows, bumps=bumps), []
    for at in range(len(one.rows) // WIDTH):
        row = dict.fromkeys(HISTORY_COLUMNS, 0) | dict(zip(EVERY_ROW, one.rows[at * WIDTH :], strict=False))
        found.append(row | {name: its[at] for name, its in one.values.items() if at in its})
    return one.stopped, found


def test_each_event_is_in_the_lane_of_its_transactional_id() -> None:
    rows = events(
        init(0, 1, txn_id=4), init(1, 2, txn_id=2), (Kind.coordinator_loaded, {"coordinator_epoch": 1}),
        (Kind.init_taken, {"client": 0, "request": 1}), (Kind.stable_moved, {"partition": 0, "upto": 1}),
        (Kind.record_sent, {"client": 1, "txn_id": 2, "txn": 0, "record": 9, "request": 3, "partition": 5, **PAIR}),
        (Kind.batch_appended, {"request": 3, "record": 9, "partition": 5, **PAIR}),
        (Kind.offset_fetched, {"client": 1000, "partition": 5, "error": 88}), (Kind.record_seen, {"record": 9}),
        (Kind.marker_appended, {**PAIR, "partition": 5}), (Kind.offset_fetched, {"client": 1000, "partition": 5}),
    )  # fmt: skip
    history = history_of(rows)
    assert {key: [e.row for e in its] for key, its in sorted(history.ids.items())} == {
        2: [1, 2, 4, 5, 6, 7, 8, 9], 4: [0, 2, 3, 6, 9],
    }  # fmt: skip
    ids = {key: OneId(history, key, 14, 32766, bumps=True) for key in history.ids}
    assert ({key: one.values["others"] for key, one in ids.items()}, history.records[9].row) == ({2: {}, 4: {3: 1}}, 4)


def test_a_record_of_the_log_is_whose_answer_follows() -> None:
    """The request is that of the nearest matching answer, or none if the coordinator resigns before it."""
    rows = events(
        init(0, 1), init(1, 2), logged(State.Empty), handled(2, **PAIR), logged(State.PrepareAbort),
        handled(1, error=51), (Kind.append_failed, {"txn_id": 0, "state": State.Empty}), handled(1, error=15),
        logged(State.Empty, epoch=1), (Kind.coordinator_loaded, {"coordinator_epoch": 1}),
        handled(1, producer_id=3, epoch=1),
    )  # fmt: skip
    one = followed(rows, bumps=True)
    assert ({at: a.row for at, a in one.answers.items()}, one.ends) == ({2: 3, 4: 5, 6: 7}, [2, 4, 6, 8, 9])
    assert one.behind[8].client == 1, "the latest of those that were sent"


def test_which_of_two_answers_was_taken() -> None:
    rows = events(
        init(0, 1), handled(1, producer_id=3, epoch=0), handled(1, producer_id=3, epoch=1),
        (Kind.init_taken, {"client": 0, "request": 1, "producer_id": 3, "epoch": 0}),
        handled(1, producer_id=3, epoch=2),
    )  # fmt: skip
    assert {request: answer.row for request, answer in followed(rows).given.items()} == {1: 1}


def test_a_copy_of_which_no_answer_leaves_takes_nothing_back() -> None:
    """A copy of a request is logged when its coordinator resigns, and the client takes the answer to the first one. If
    it takes a later one instead, the first was lost, and it has asked again."""
    first, copy = (logged(State.Empty), handled(1, **PAIR)), logged(State.Empty, epoch=1)
    resigned = (Kind.coordinator_loaded, {"coordinator_epoch": 1})
    taken = Kind.init_taken, {"client": 0, "request": 1, **PAIR}
    _, values = laid_out(events(init(0, 1), *first, copy, resigned, taken))
    assert [row["late"] for row in values if row["of_init"]] == [False, True]
    later = handled(1, producer_id=3, epoch=2), (Kind.init_taken, taken[1] | {"epoch": 2})
    _, values = laid_out(events(init(0, 1), *first, copy, resigned, logged(State.Empty, epoch=2), *later))
    assert [row["late"] for row in values if row["of_init"]] == [True, False, False]


def test_a_copy_does_not_count_once_its_client_has_asked_again() -> None:
    """The column ``counts`` concerns only the latest request of a waiting client."""
    rows = events(
        init(0, 1), init(0, 2), handled(1, **PAIR), handled(2, **PAIR),
        (Kind.init_taken, {"client": 0, "request": 2, **PAIR}), handled(2, **PAIR),
    )  # fmt: skip
    _, values = laid_out(rows)
    assert [values[at]["counts"] for at in (2, 3, 5)] == [False, True, False]


def test_an_answer_to_try_again_is_explained_by_what_is_under_way() -> None:
    """A record is under way if it is logged later and was requested before."""
    rows = events(
        init(0, 1), handled(7, error=51), logged(State.Empty), handled(1, **PAIR), init(1, 2), handled(8, error=14),
        (Kind.coordinator_loaded, {"coordinator_epoch": 5}), handled(2, error=14), init(1, 9),
        logged(State.Empty, epoch=1), handled(9, producer_id=3, epoch=1),
    )  # fmt: skip
    _, values = laid_out(rows)
    assert [values[i]["busy"] for i in (1, 7)] == [True, False]
    assert [values[i]["away"] for i in (5, 7)] == [True, False]
    assert values[6]["term"] == 1


def test_a_late_record_is_followed_in_v1_though_another_was_there_in_time() -> None:
    """A late record has its own kind in v1, and in v2 is judged because the leader verifies. With verification alone, a
    record that joins it unverified is not followed, since the model has nothing open there."""
    rows = events(sent(0, 0, 1), sent(0, 1, 2), appended(0, 1), MARKER, appended(1, 2), sent(1, 2, 3), appended(2, 3))
    _, values = laid_out(rows)
    assert [row["kind"] for row in values] == [*rows["kind"][:4], BESIDE, *rows["kind"][5:]]
    for bumps in (False, True):
        reason, values = laid_out(rows, bumps=bumps)
        assert (reason, len(values)) == ("", 7)
    verifying = followed(rows, verifies=True)
    assert (verifying.stopped, len(verifying.events)) == (LATE_RECORD, 6)


def test_a_marker_of_a_later_producer_id_ends_nothing_of_an_earlier_one() -> None:
    """A late record of the earlier id stays open, but a marker of the model ends everything, so it is not followed."""
    later = {"producer_id": 9, "epoch": 0}
    marker = MARKER[0], MARKER[1] | later
    rows = events(sent(0, 0, 1), MARKER, appended(0, 1), marker, MARKER)
    one = followed(rows)
    assert (one.stopped, len(one.events)) == (OLD_LEFT, 3)


def test_who_resigns_tells_nobody() -> None:
    """One request that may have caused a record counts as its cause, two partitions are ambiguous, and the last record
    without an answer is left out."""
    untold = logged(State.Ongoing)
    more = (Kind.coordinator_loaded, {"coordinator_epoch": 1}), handled(9, error=14)
    reason, values = laid_out(events(add(0, 1, 1), untold, *more))
    assert (reason, values[1]["txn"], values[1]["partition"]) == ("", 0, 1)
    reason, values = laid_out(events(add(0, 1, 1), add(0, 2, 2), untold, *more))
    assert (reason, len(values)) == (UNREPORTED, 2)
    reason, values = laid_out(events(add(0, 1, 1), add(0, 2, 2), untold))
    assert (reason, len(values)) == ("", 2)


def test_pairs_get_the_numbers_of_the_model() -> None:
    """Pairs are numbered by producer ids, and an unknown epoch has no number or is not followed."""
    rows = events(init(0, 1), handled(1, **PAIR), init(1, 2), handled(2, producer_id=9, epoch=2))
    _, values = laid_out(rows)
    assert [(row["number"], row["next_base"]) for row in values[1::2]] == [(1, 17), (19, 33)]
    reason, _ = laid_out(events(init(0, 1), handled(1, producer_id=3, epoch=12)))
    assert reason == "an epoch is larger than 10"


def test_what_a_forgotten_id_leaves_behind() -> None:
    """After its id has expired Kafka forgets the pair of a request, but the model does not, so its retry is not
    followed."""
    again = init(0, 5, **PAIR), (Kind.id_expired, {"txn_id": 0}), logged(State.Empty, producer_id=4)
    answered = handled(5, producer_id=4, epoch=0)
    reason, values = laid_out(events(*again, answered, handled(5, error=90)))
    assert (reason, len(values)) == (FORGOTTEN, 4)
    reason, values = laid_out(events(again[0], *again[2:], answered, handled(5, error=90)))
    assert (reason, len(values)) == ("", 4)


def test_what_a_retry_erases() -> None:
    """After an Empty record of the same pair a repeated EndTxn is refused, but the model repeats its answer."""
    end = (Kind.end_sent, {"client": 0, "txn_id": 0, "txn": 0, "outcome": 1, "request": 8, **PAIR})
    refused = (Kind.end_handled, {"txn_id": 0, "request": 8, "outcome": 1, "error": 48})
    rows = end, logged(State.CompleteCommit), init(0, 5, **PAIR)
    reason, values = laid_out(events(*rows, logged(State.Empty), handled(5, **PAIR), refused))
    assert (reason, len(values)) == (ERASED, 5)
    later = {"producer_id": 3, "epoch": 1}
    reason, values = laid_out(events(*rows, logged(State.Empty, epoch=1), handled(5, **later), refused))
    assert (reason, len(values)) == ("", 6)
