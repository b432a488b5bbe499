"""A cluster is followed: what is broken is reported soon, once, and over an end and a new beginning."""

import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from unittest.mock import Mock

import pytest
from checked_logs import COMMIT, LOG, P, Q, by_kind, committed, data, life, mark, segment_of
from command_line import fencepost
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.doctor import following
from fencepost.proofs.doctor.following import Followed, follow, stopping
from fencepost.proofs.doctor.source import Active, DiskSource, Listed
from fencepost.proofs.doctor.traces import Broken
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.logs.segments import Segment
from prepared_stream import Prepared, Stream
from transaction_logs import checkpoint as offsets_checkpoint
from transaction_logs import write_log

A, A1, A2 = (7, 0), (7, 1), (7, 2)
SOON_S = 2.0


@dataclass
class Polled:
    """Logs in memory, read round by round as from brokers; `away` are those that do not answer."""

    logs: dict[Place, list[bytes]]
    folder: Path
    name: str = "memory"
    away: dict[Place, str] = field(default_factory=dict)
    at_once: int = 1000
    rounds: int = 0
    high: dict[Place, int] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    lag_s: float = 0.0

    def topic_ids(self, topics: Collection[str]) -> Mapping[str, str]:
        return self.ids

    def now_ms(self) -> int:
        return int(time.time() * 1000)

    def releases(self) -> Mapping[str, str]:
        return {}

    def places(self, topics: Collection[str]) -> Sequence[Place]:
        return [place for place in self.logs if (place.topic in topics if topics else not place.topic.startswith("__"))]

    def segments(self, place: Place, since_ms: int = -1, start: int = -1) -> Iterator[Segment]:
        return iter(())

    def poll(self, starts: Mapping[Place, int], wait_ms: int = 500) -> Iterator[tuple[Place, Segment]]:
        self.rounds += 1
        self.high = {place: len(self.logs[place]) for place in starts if place not in self.away}
        for place, start in starts.items():
            new = self.logs[place][start : start + self.at_once]
            if new and place not in self.away:
                yield place, segment_of(new, self.folder)

    def ends(self, place: Place) -> tuple[int, int, int]:
        return 0, len(self.logs[place]), len(self.logs[place])

    def listed(self, transactional_ids: Collection[str]) -> Sequence[Listed]:
        return []

    def active(self, place: Place) -> Sequence[Active]:
        return []

    def close(self) -> None:
        pass


def rounds(source: Polled, many: int, checkpoint: Path | None = None, at: Callable[[int], None] = lambda _: None):  # type: ignore[no-untyped-def]
    """What is reported in so many rounds, and the counts; `at` is called before each round."""
    broken: list[Broken] = []
    last = source.rounds + many

    def stop() -> bool:
        at(source.rounds)
        return source.rounds >= last

    return broken, follow(source, on_broken=broken.append, stop=stop, checkpoint=checkpoint)


def test_all_is_reported_once(tmp_path: Path) -> None:
    source = Polled({P: [data(0, A, 0), data(1, A, 0)], LOG: committed(A)}, tmp_path)
    broken, counts = rounds(source, 12)
    assert by_kind(broken) == [("duplicate", 0, 1), ("hanging", 3, 0)]
    assert (counts.batches, counts.transactions, counts.broken) == (6, 1, 2)
    assert counts.settled >= 2
    assert counts.without == ""


def test_a_marker_is_compared_after_the_transaction_log_is_read_again(tmp_path: Path) -> None:
    """Its Prepare record is written later here than the marker is read, as it may look from outside."""
    log = committed(A)
    source = Polled({P: [data(0, A, 0), mark(1, A1, COMMIT)], LOG: log[:2]}, tmp_path)

    def later(number: int) -> None:
        source.logs[LOG] = log[:2] if number < 2 else log

    assert rounds(source, 12, at=later)[0] == []
    source.logs[P] += [data(2, A1, 0), mark(3, (7, 3), COMMIT)]
    assert by_kind(rounds(source, 12)[0]) == [("marker_without", None, 3)]


def test_a_partition_that_is_away_holds_up_no_other(tmp_path: Path) -> None:
    """What is open there is not hanging: its marker cannot be read."""
    both = [data(0, A, 0)]
    source = Polled({P: [*both], Q: [*both], LOG: life((A, 0), (A, 1))}, tmp_path)
    rounds(source, 3)
    source.away = {}

    def ended(number: int) -> None:
        if number == 3:
            source.logs[LOG] = committed(A)
            source.away = {Q: "no leader"}

    source.rounds = 0
    broken, _ = rounds(source, 16, at=ended)
    assert [(each.kind, each.second.place) for each in broken] == [("hanging", P)]


OLD = [step for n in range(4) for step in (data(2 * n, (7, n), 0), mark(2 * n + 1, (7, n + 1), COMMIT))]
LIVES = [each for n in range(4) for each in committed((7, n), first=4 * n)]


def test_a_partition_that_is_found_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is old there is not compared with Prepare records that are not stored any more; what is new is."""
    monkeypatch.setattr(following, "PLACES_S", 0.0)
    source = Polled({P: OLD[:], LOG: LIVES[:]}, tmp_path)
    rounds(source, 12)

    def created(number: int) -> None:
        if number == 12:
            source.logs[Q] = OLD[:]

    assert rounds(source, 30, at=created)[0] == []
    source.rounds = 0

    def followed(number: int) -> None:
        if number == 1:
            source.logs[Q] = OLD[:]
        if number == 20:
            source.logs[Q] = [*OLD, data(8, (7, 4), 0), mark(9, (7, 9), COMMIT)]

    del source.logs[Q]
    assert by_kind(rounds(source, 40, at=followed)[0]) == [("marker_without", None, 9)]


def test_a_partition_that_comes_back(tmp_path: Path) -> None:
    """Its markers were written, and could not be read, long ago."""
    source = Polled({P: OLD[:2], Q: OLD[:2], LOG: LIVES[:4]}, tmp_path)

    def away(number: int) -> None:
        source.away = {Q: "no leader"} if 6 <= number < 24 else {}
        if number == 7:
            source.logs |= {P: OLD[:], Q: OLD[:], LOG: LIVES[:]}

    assert rounds(source, 40, at=away)[0] == []


def test_a_topic_that_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its coordinator completes the transaction without it: nothing hangs."""
    monkeypatch.setattr(following, "PLACES_S", 0.0)
    source = Polled({P: [data(0, A, 0)], Q: [data(0, A, 0)], LOG: committed(A)[:2]}, tmp_path)

    def deleted(number: int) -> None:
        if number == 4:
            source.logs = {Q: [data(0, A, 0), mark(1, A1, COMMIT)], LOG: committed(A)}

    assert rounds(source, 20, at=deleted)[0] == []


@pytest.mark.parametrize("many", [0, 6])
def test_a_topic_that_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int) -> None:
    """It is read from its beginning, whether it has fewer batches than the former one by then or more, and what is
    wrong in it is reported; nothing is compared with what the former one had."""
    source = Polled({P: [data(0, A, 0), data(1, A, 1), data(2, A, 2)], LOG: life((A, 0), (A, 1))}, tmp_path)
    source.ids = {"t": "former"}

    def anew(number: int) -> None:
        if number == 4:
            source.away, source.ids = {P: "unknown topic"}, {}
        if number == 6:
            source.away, source.ids = {}, {"t": "other"}
            source.logs[P] = [data(0, A, 0), *(data(at + 1, A, at) for at in range(many + 1))]

    assert by_kind(rounds(source, 20, at=anew)[0]) == [("duplicate", 0, 1)]


def test_without_the_transaction_log_partitions_are_judged(tmp_path: Path) -> None:
    source = Polled({P: [data(0, A, 0), data(1, A, 0), mark(2, A1, COMMIT)]}, tmp_path)
    broken, counts = rounds(source, 8)
    assert by_kind(broken) == [("duplicate", 0, 1)]
    assert counts.without


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """What was reported is not reported again; what began before and ends after the pause is found."""
    file = tmp_path / "doctor.npz"
    source = Polled({P: [data(0, A, 0), data(1, A, 0)], LOG: life((A, 0), (A, 1))}, tmp_path / "logs")
    broken, _ = rounds(source, 6, file)
    assert by_kind(broken) == [("duplicate", 0, 1)]
    source.logs[P] += [data(2, A, 0), mark(3, A1, COMMIT)]
    source.logs[LOG] = committed(A)
    broken, counts = rounds(source, 8, file)
    assert by_kind(broken) == [("duplicate", 0, 2)]
    assert counts.batches == 4
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [file.name]


def test_a_checkpoint_of_another_cluster(tmp_path: Path) -> None:
    file = tmp_path / "doctor.npz"
    rounds(Polled({P: [data(n, A, n) for n in range(3)], LOG: life((A, 0))}, tmp_path / "one"), 4, file)
    other = Polled({P: [data(0, A, 0)], LOG: life((A, 0))}, tmp_path / "other")
    with pytest.raises(InputError, match="another cluster or topic; begin anew"):
        rounds(other, 4, file)
    file.write_bytes(b"x")
    with pytest.raises(InputError, match=r"doctor\.npz: this is no state"):
        rounds(other, 4, file)


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "doctor.npz"
    source = Polled({P: [data(0, A, 0)], LOG: life((A, 0))}, tmp_path / "logs")
    rounds(source, 4, file)
    before = file.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot be written: No space left"):
        rounds(source, 4, file)
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [file.name]


def test_the_first_signal_ends_it_and_the_second_does_what_it_did() -> None:
    """Also where the tests run in a shell's background, which ignores SIGINT."""
    before, interrupted = signal.getsignal(signal.SIGTERM), signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with stopping() as stop:
            os.kill(os.getpid(), signal.SIGINT)
            assert stop.wait(1)
            with pytest.raises(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, interrupted)
    assert signal.getsignal(signal.SIGTERM) is before


def test_directories_that_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a broker at work: a duplicate is reported within two seconds of its being committed, and what hangs."""
    monkeypatch.setattr("fencepost.proofs.doctor.source.WRITTEN_S", 0.1)
    node = tmp_path / "node"
    topic = [data(0, A, 0)]
    write_log(node, "t-0", topic)
    write_log(node, f"{LOG.topic}-0", committed(A)[:2])
    offsets_checkpoint(node, "replication-offset-checkpoint", {("t", 0): 1, (LOG.topic, 0): 2})
    seen: list[tuple[float, Broken]] = []
    done = [False]
    counts: list[Followed] = []

    def run() -> None:
        source = DiskSource([node])
        counts.append(
            follow(source, on_broken=lambda each: seen.append((time.monotonic(), each)), stop=lambda: done[0])
        )

    thread = Thread(target=run)
    thread.start()
    try:
        time.sleep(0.5)
        assert seen == []
        with (node / "t-0" / f"{0:020}.log").open("ab") as file:
            file.write(data(1, A, 0))
        written = time.monotonic()
        offsets_checkpoint(node, "replication-offset-checkpoint", {("t", 0): 2, (LOG.topic, 0): 2})
        _wait(lambda: len(seen) == 1)
        assert seen[0][0] - written < SOON_S
        with (node / f"{LOG.topic}-0" / f"{0:020}.log").open("ab") as file:
            file.write(b"".join(committed(A)[2:]))
        offsets_checkpoint(node, "replication-offset-checkpoint", {("t", 0): 2, (LOG.topic, 0): 4})
        _wait(lambda: len(seen) == 2)
    finally:
        done[0] = True
        thread.join(5)
    assert by_kind(each for _, each in seen) == [("duplicate", 0, 1), ("hanging", 3, 0)]
    assert not thread.is_alive()
    assert counts[0].broken == 2


@pytest.mark.parametrize(
    ("batches", "log", "code"),
    [
        ([data(0, A, 0), data(1, A, 0)], committed(A)[:2], 1),
        ([data(0, A, 0), mark(1, A1, COMMIT)], [], 1),
        ([data(0, A, 0), mark(1, A1, COMMIT)], committed(A), 0),
    ],
    ids=["a duplicate", "nothing to compare with", "fine"],
)
def test_the_exit_code_of_what_was_followed(
    batches: list[bytes], log: list[bytes], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is 1 after a finding, and where something was not decided."""
    monkeypatch.setattr("fencepost.proofs.doctor.source.WRITTEN_S", 0.01)
    monkeypatch.setattr(following, "stopping", lambda: nullcontext(Mock(is_set=Mock(side_effect=[*[False] * 8, True]))))
    node = tmp_path / "node"
    write_log(node, "t-0", batches)
    if log:
        write_log(node, f"{LOG.topic}-0", log)
    ends = {("t", 0): len(batches), (LOG.topic, 0): len(log)}
    offsets_checkpoint(node, "replication-offset-checkpoint", ends)
    ran = fencepost("doctor", "--logs", node, "--follow")
    assert (ran.code, "not decided: " in ran.out) == (code, not log), ran.out + ran.err


def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    """What is stored after ten times as many transactions is as large, though the stream never pauses."""
    sizes, file = [], tmp_path / "doctor.npz"
    for chunks in (10, 100):
        stream, broken = Stream(producers=40, partitions=3, logs=2, rounds=5), list[Broken]()
        source = Prepared(stream, stream.chunks(chunks))
        counts = follow(source, on_broken=broken.append, stop=lambda each=source: each.over, checkpoint=file)
        assert broken == []
        assert counts.transactions == chunks * stream.transactions
        assert counts.settled >= chunks // 3
        sizes.append(file.stat().st_size)
        file.unlink()
    assert sizes[1] < sizes[0] * 1.01


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
