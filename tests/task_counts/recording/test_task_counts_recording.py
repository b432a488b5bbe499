"""Logs of live Connect clusters are recorded: what each of their sources decides, that all of it holds where nothing
went wrong, and that what a source does not show is not decided."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import fencepost
from connect_logs import NAMES, unpacked, written
from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.recording import Recorded
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.task_counts.group_log import Assignment, assignment_of
from fencepost.proofs.recording.task_counts.ordering import Event, in_order
from fencepost.proofs.recording.task_counts.recorder import record_task_counts
from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.task_counts.events import Kind
from fencepost.properties.task_counts.histories.properties import HISTORY
from fencepost.reference_impl.live.connect.cluster import TASK_TIMEOUT_MS
from transaction_logs import rewritten, starts

LIVES = [name for name in NAMES if name.startswith("life")]
OF_BROKERS = {"counts_are_sizes", "epochs_grow", "fenced_never_commit", "fencing_goes_on", "ids_of_their_own"}
OF_SEEN = OF_BROKERS | {
    "fenced_before_count", "no_zombie_commits", "only_running_polls", "producers_covered", "running_with_count",
    "writes_by_latest_claimant",
}  # fmt: skip
OF_ALL = OF_SEEN | {
    "answers_with_count", "checked_after_fencing", "checked_again_newest", "counts_of_newest_set",
    "fences_of_the_round", "newest_set_polls", "not_reclaimed_since", "opened_after_answer", "rounds_fence_the_count",
    "running_checked_again", "sets_whole", "silent_when_over", "writes_while_leading",
}  # fmt: skip
NOT_PROMISED = {"assignments_reach_counts", "opened_after_check", "checked_with_count"}
BY_ROUND = {
    "answers_with_count", "checked_after_fencing", "counts_of_newest_set", "fences_of_the_round",
    "not_reclaimed_since", "opened_after_answer", "rounds_fence_the_count",
}  # fmt: skip


class Sources:
    """What is stored of a cluster, unpacked: a broker's log directory, what was seen, and workers' logs."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = unpacked(name, folder / name)
        self.brokers = sorted(self.folder.glob("node-*"))
        self.seen = self.folder / "seen.jsonl"
        self.logs = sorted(self.folder.glob("w*.log"))

    def record(self, seen: bool = True, logs: bool = True, out: str = "out", **more: object) -> Recorded:
        return record_task_counts(
            self.brokers, self.folder / out, seen=self.seen if seen else None,
            worker_logs=self.logs if logs else (), quiet_end=True, **more,  # type: ignore[arg-type]
        )  # fmt: skip

    def report(self, recorded: Recorded, out: str = "out") -> ReplayReport:
        return replay(self.folder / out, cores=1, further={"conformance": conformance_of(recorded.manifest)})

    def without(self, text: str, times: int = -1) -> None:
        """Take lines with a text out of the workers' logs."""
        for log in self.logs:
            left = []
            for line in log.read_text().splitlines(keepends=True):
                if text in line and times:
                    times -= 1
                else:
                    left.append(line)
            log.write_text("".join(left))
        assert times <= 0


@pytest.fixture
def sources(tmp_path: Path) -> Callable[[str], Sources]:
    return lambda name: Sources(name, tmp_path)


@pytest.fixture
def life(tmp_path: Path) -> Sources:
    return Sources("life-4.3.1", tmp_path)


def test_the_tables_have_every_property() -> None:
    assert OF_ALL | NOT_PROMISED == {*HISTORY.properties}


@pytest.mark.parametrize("name", LIVES)
def test_a_life_without_trouble_holds(name: str, sources: Callable[[str], Sources]) -> None:
    """Everything is decided, and the model of the release follows it, rounds and looks included."""
    stored = sources(name)
    recorded = stored.record()
    assert (set(recorded.decidable), set(recorded.not_promised)) == (OF_ALL, NOT_PROMISED)
    report = stored.report(recorded)
    assert report.violations == {}
    assert all(report.judged[name] for name in (*OF_ALL - {"silent_when_over"}, "conformance"))
    assert recorded.counts["set_written"] == recorded.counts["count_written"] == 4
    assert recorded.counts["id_fenced"] == 2 + 3 + 1
    assert recorded.manifest.ordered


@pytest.mark.parametrize(("seen", "logs", "decided"), [(False, False, OF_BROKERS), (True, False, OF_SEEN)])
def test_each_source_decides_more(life: Sources, seen: bool, logs: bool, decided: set[str]) -> None:
    """The brokers' logs alone decide what needs neither workers nor instances."""
    recorded = life.record(seen, logs)
    assert set(recorded.decidable) == decided
    report = life.report(recorded)
    assert report.violations == {} and all(report.judged[name] for name in decided)
    assert "task_starting" in recorded.undecidable["sets_whole"]


def test_clocks_of_several_machines_are_no_order(life: Sources) -> None:
    """Without what was seen on one clock, the workers' logs may be of several machines."""
    recorded = life.record(seen=False)
    assert not recorded.manifest.ordered
    assert set(recorded.decidable) == OF_BROKERS
    assert recorded.undecidable["sets_whole"] == "the order of steps across nodes is not known"


@pytest.mark.parametrize("text", ["Fencing out 2 task producers", "Fencing out 3 task producers"])
def test_a_round_that_is_not_shown_is_not_decided(life: Sources, text: str) -> None:
    """A log whose texts are others says nothing: no fence is taken for one without a round."""
    life.without(text)
    recorded = life.record()
    assert BY_ROUND - {*recorded.decidable} == BY_ROUND - {"answers_with_count", "opened_after_answer"}
    report = life.report(recorded)
    assert report.violations == {} and "conformance" in report.unknown
    assert any("rounds" in note for note in recorded.notes)


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("Starting task c-1", {"sets_whole", "opened_after_answer"}),
        ("Performing preflight zombie check for task c-1", {"answers_with_count", "opened_after_answer"}),
        ("Reading to end of config topic to ensure", {"checked_again_newest", "running_checked_again"}),
    ],
)
def test_a_line_that_is_missing_is_not_shown(life: Sources, text: str, lost: set[str]) -> None:
    life.without(text, times=1)
    recorded = life.record()
    assert lost <= {*recorded.undecidable}
    assert life.report(recorded).violations == {}


def test_a_worker_whose_log_is_missing(life: Sources) -> None:
    life.logs.pop()
    recorded = life.record()
    assert set(recorded.decidable) == OF_SEEN
    assert "the log of worker w1 is not given" in recorded.notes


def test_texts_of_another_release(life: Sources) -> None:
    """Its texts may be others."""
    assert life.record(kafka_version="4.2.0").notes[-1].endswith("and these are of 4.2.0")


def test_layouts_of_logs(life: Sources) -> None:
    """Kafka's own layout has the connector's context and no thread; a log may be in several files."""
    before = life.record().counts
    for log in list(life.logs):
        text = log.read_text()
        for task in "012":
            text = text.replace(f"[task-thread-c-{task}] ", f"[c|task-{task}] ")
        folder = log.with_suffix("")
        folder.mkdir()
        lines = text.splitlines(keepends=True)
        half = next(at for at, line in enumerate(lines) if at > len(lines) // 2 and line.startswith("2"))
        (folder / "connect.log").write_text("".join(lines[half:]))
        (folder / "connect.log.1").write_text("".join(lines[:half]))
        life.logs[life.logs.index(log)] = folder
    assert life.record(out="again").counts == before


def test_a_record_of_some_connectors(life: Sources) -> None:
    """Of another one there is only what the group did, of which nothing is judged that needs a connector."""
    before = life.record().counts
    assert life.record(connectors=["c"], out="c").counts == before
    other = life.record(connectors=["d"], out="d")
    assert {"set_written", "id_fenced", "task_running"}.isdisjoint(other.counts)
    assert other.counts["topic_claimed"] == before["topic_claimed"]
    assert life.report(other, "d").violations == {}


def test_a_removed_task(sources: Callable[[str], Sources]) -> None:
    """F1: a worker that was away starts a task that the newest set does not have, with its old configuration, and the
    task commits. The model says which step is not its own."""
    stored = sources("removed-4.3.1")
    recorded = stored.record()
    report = stored.report(recorded)
    assert set(report.violations) - {"newest_set_polls"} == {
        "no_zombie_commits", "producers_covered", "sets_whole", "conformance"
    }  # fmt: skip
    assert "assign needs if set = generation then task < size" in report.violations["conformance"]["first"].told
    report = stored.report(stored.record(logs=False, out="less"), "less")
    assert set(report.violations) == {"no_zombie_commits", "producers_covered"}


def test_an_instance_that_is_refused_after_the_next_has_started(sources: Callable[[str], Sources]) -> None:
    """618.19: it looked while it was stopped in vain. Without the line that says so it would have passed."""
    stored = sources("overtaken-4.4.0")
    recorded = stored.record()
    assert (recorded.counts["task_left_running"], recorded.counts["task_running"]) == (1, 1)
    report = stored.report(recorded)
    assert report.violations == {} and report.judged["conformance"]
    stored.without("Cannot start source task", times=1)
    report = stored.report(stored.record(out="less"), "less")
    assert set(report.violations) == {"checked_again_newest", "conformance"}


def test_two_sets_of_one_number(sources: Callable[[str], Sources]) -> None:
    """A connector's configuration changed, and before its Connector had started again, this made one more set of the
    earlier configuration. An instance of the first of both sets is not of the second."""
    stored = sources("same-number-4.4.0")
    report = stored.report(stored.record())
    assert report.violations == {} and report.judged["conformance"]
    assert report.judged["running_with_count"] == 15
    instances = [each for each in written(stored.folder / "out").rows if each["kind"] == Kind.task_running]
    assert [each["set"] for each in instances][4:6] == [23, 23]


# Input that cannot be recorded is refused in one line.


def refused(stored: Sources, match: str) -> None:
    """By the recorder, and by the command in one line with exit code 2."""
    with pytest.raises((RecordingError, InputError), match=match) as error:
        stored.record()
    assert "\n" not in str(error.value)
    words = ["record", "--protocol", "task-counts", *map(str, stored.brokers), "--seen", str(stored.seen)]
    logs = [word for log in stored.logs for word in ("--worker-logs", str(log))]
    ran = fencepost(*words, *logs, "--out", stored.folder / "refused")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert not (stored.folder / "refused" / "manifest.json").exists()


def test_several_partitions_are_no_order(life: Sources) -> None:
    log = life.brokers[0] / "__transaction_state-0"
    shutil.copytree(log, log.with_name("__transaction_state-1"))
    refused(life, "the transaction log has 2 partitions, between which there is no order")


def test_brokers_without_connect(life: Sources) -> None:
    (log,) = (life.brokers[0] / "__transaction_state-0").glob("*.log")
    log.write_bytes(b"")
    (life.brokers[0] / "replication-offset-checkpoint").unlink()
    refused(life, "holds no transaction of a Connect leader")


def test_what_was_seen_of_another_cluster(life: Sources) -> None:
    life.seen.write_text(life.seen.read_text().replace('"group":"connect"', '"group":"other"', 1))
    refused(life, "is of the group other, and the brokers have connect")


def test_what_is_not_what_was_seen(life: Sources) -> None:
    life.seen.write_text('{"us":1,"source":"control","event":"called"}\n')
    refused(life, "is none of what was seen")


def test_what_is_no_log_of_a_worker(life: Sources) -> None:
    life.logs[0].write_text("2026-11-29 10:00:00.000 INFO  [main] nothing\n")
    refused(life, "holds no line of a worker of group connect")


def test_the_command(life: Sources) -> None:
    words = ["record", "--protocol", "task-counts", *map(str, life.brokers), "--seen", str(life.seen)]
    logs = [word for log in life.logs for word in ("--worker-logs", str(log))]
    ran = fencepost(*words, *logs, "--out", life.folder / "out", "--config", "quiet_end=true")
    assert ran.code == 0 and "24 of 27 properties can be decided from it" in ran.out
    assert fencepost("replay", life.folder / "out", "--require", "conformance").code == 0


# How fences are known, and what an order is made of.


def with_timeout(stored: Sources, old: int, new: int) -> None:
    """Give clients of transactions another time-out in the stored transaction log."""
    (file,) = (stored.brokers[0] / "__transaction_state-0").glob("*.log")
    content = file.read_bytes()
    ends = [*starts(file)[1:], len(content)]
    for row, (start, end) in enumerate(zip(starts(file), ends, strict=True)):
        at = content.find(struct.pack(">i", old), start, end)
        if at >= 0:
            rewritten(file, row, at - start, struct.pack(">i", new))


def test_fences_of_older_releases(life: Sources) -> None:
    """3.3 fences with a time-out of 1 ms."""
    before = life.record(seen=False, logs=False, out="before").counts
    with_timeout(life, 90_000, 1)
    assert life.record(seen=False, logs=False).counts == before


def test_fences_that_are_like_starts(life: Sources) -> None:
    """Tasks whose producers have the admin's time-out cannot be distinguished from fences."""
    with_timeout(life, TASK_TIMEOUT_MS, 90_000)
    refused(life, "that a fence gave, by its time-out of 90000 ms, began a transaction")


def event(kind: Kind, time_us: int, *after: Event) -> Event:
    return Event(kind, time_us, {}, list(after))


def test_what_came_before_wins_over_clocks() -> None:
    opened = event(Kind.producer_opened, 50)
    running = event(Kind.task_running, 10, opened)
    stopped = event(Kind.task_stopped, 20)
    assert in_order([running, stopped, opened]) == ([stopped, opened, running], 0)


def test_contradictions_are_counted() -> None:
    first, second = event(Kind.set_written, 1), event(Kind.count_written, 2)
    first.after.append(second)
    second.after.append(first)
    assert in_order([second, first]) == ([first, second], 1)


def test_assignments_of_the_eager_protocol() -> None:
    """Version 0 has no revoked tasks; -1 stands for the connector."""
    text = b"".join(struct.pack(">h", len(word)) + word for word in (b"w0-1", b"http://x"))
    tasks = struct.pack(">i", 1) + struct.pack(">h", 1) + b"c" + struct.pack(">iii", 2, -1, 0)
    value = struct.pack(">hh", 0, 0) + text + struct.pack(">q", 7) + tasks
    assert assignment_of(value) == Assignment(7, {"c": (-1, 0)}, {})
