"""This module says what was found in a cluster: a headline, then a finding a sentence, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from fencepost.proofs.doctor.checks import KINDS
from fencepost.proofs.doctor.diagnosis import Examined, Fenced, Opened
from fencepost.proofs.doctor.futures import ABORT, COMMIT, FENCED, LEFT, Future, Loaded
from fencepost.proofs.doctor.same_key import SameKey
from fencepost.proofs.doctor.traces import Broken, Trace
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS
from fencepost.proofs.scope.findings import FINDINGS
from fencepost.proofs.scope.releases import column_of as column_of_exact

HANGS = ("txn.P10", "618.P1")
"""A transaction that hangs breaks these promises already."""
ON_OFFSETS = "transactional-offsets/offsets-marker-dropped"
"""On a partition of group offsets, a dropped marker is a finding of this variant."""
REPEATED = {
    "duplicate": "the batch at {first} stands there once more, with the same sequence number {sequence}, {gap} later",
    "gap": "the batch with sequence number {sequence} does not follow on what the partition had of its producer",
    "fenced": "a batch of epoch {epoch} was taken although the partition had a later epoch",
    "old_marker": "a marker of epoch {epoch} was taken although the partition had a later epoch",
    "joined": "a batch of epoch {epoch} joined an open transaction of an older epoch: one marker decides both",
    "coordinator_epoch": "a marker of a deposed coordinator was taken after one of its successor",
    "last_epoch": "a transaction uses epoch 32767, which is never handed out",
    "late_marker": "the {what} marker of an earlier transaction ended the next one while that was open",
    "marker_without": "the partition has a COMMIT marker, and no record of its coordinator decides so",
    "abort_without": "the partition has an ABORT marker, and no record of its coordinator decides so",
    "both_outcomes": "the partition has the {what} marker of a transaction that its coordinator decided the other way",
    "decided_twice": "the coordinator decided the same transaction twice, in both ways",
    "transition": "the coordinator went to {what} from a state from which it never goes there",
    "epoch_back": "the epoch of the transactional id went back",
    "not_bumped": "the coordinator ended a transaction of version 2 without a new epoch",
}
"""By a kind of `checks.KINDS`, what happened."""
TODO = {
    "duplicate": "Readers get it twice: drop one copy downstream, by topic, partition and offset, and ask the owner "
    "of its producer for client and version.",
    "gap": "Something may be missing before it, or was deleted: compare with what its producer sent.",
    "abort_without": "If an operator aborted it (kafka-transactions.sh abort), this is that; otherwise ask who did.",
}
ASK = "Keep the log directories of this partition and of __transaction_state: they are the evidence for a bug report."
DEFECTS = {
    "duplicate": ("duplicates older than the last batch are refused after a restart",),
    "late_marker": (
        "late marker decides the next transaction",
        "a marker without its transaction version is judged by the old rule",
    ),
    "joined": ("acknowledged commit lost", "aborted record committed"),
    "both_outcomes": ("half a transaction committed",),
    "decided_twice": ("half a transaction committed",),
    "epoch_back": ("rotation lost over a fail-over",),
}  # fmt: skip
"""By kind, the findings (`fencepost findings`) that leave such a trace."""


@dataclass(frozen=True)
class Line:
    """A `Line` is one finding. `wrong` is false for what only takes long or was prevented; `first` is the earlier
    record that it contradicts. `known` has the names of findings on this release that do so."""

    kind: str
    wrong: bool
    says: str
    todo: tuple[str, ...]
    rules: tuple[str, ...]
    known: tuple[str, ...]
    topic: str
    partition: int
    offset: int
    transactional_id: str
    producer_id: int
    epoch: int
    time: str
    first: str = ""
    futures: tuple[dict[str, Any], ...] = ()

    @property
    def where(self) -> str:
        return f"{Place(self.topic, self.partition)}" + (f"@{self.offset}" if self.offset >= 0 else "")


def report(found: Examined, told: Sequence[Line], again: SameKey | None) -> dict[str, Any]:
    """Return what `--json` writes, without the version of the schema."""
    made: dict[str, Any] = {
        "source": found.name, "release": found.release, "transaction_version": found.version,
        "as_of": iso(found.now_ms), "transactional_ids": found.ids, "partitions": list(map(str, found.places)),
        "batches": found.batches, "since": iso(found.first_ms), "until": iso(found.last_ms),
        "findings": [asdict(line) for line in told], "broken": found.count, "undecided": found.gaps,
    }  # fmt: skip
    if again is not None:
        pairs = [
            {"first": f"{p.first}@{p.first_offset}", "second": f"{p.second}@{p.second_offset}",
             "key": p.key.decode(errors="backslashreplace")}
            for p in again.pairs
        ]  # fmt: skip
        made["same_key"] = {"records": again.records, "repeated": again.repeated, "pairs": pairs}
    return made


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if ms >= 0 else "an unknown time"


def lines(found: Examined) -> list[Line]:
    """Return what was found, what breaks a rule first."""
    opened = [_of_open(each, found) for each in found.opened if each.verdict != "running"]
    every = [*opened, *(_of_broken(each, found) for each in found.broken), *map(_of_fenced, found.fenced)]
    return sorted(every, key=lambda line: not line.wrong)


def headline(found: Examined, told: Sequence[Line]) -> str:
    wrong = sum(line.wrong for line in told) + found.count - len(found.broken)
    topics = len({place.topic for place in found.places})
    head = f"{_many(wrong, 'finding')} in {_many(found.ids, 'transactional id')}, {_many(topics, 'topic')}, "
    head += _many(found.batches, "batch", "batches")
    if found.last_ms >= 0:
        head += f", {iso(found.first_ms)} to {iso(found.last_ms)}"
    running = sum(each.verdict == "running" for each in found.opened)
    return head + (f"; {_many(running, 'transaction')} under way" if running else "")


def _many(count: int, one: str, several: str = "") -> str:
    text = f"{count / 1e6:.1f} M" if count >= 1_000_000 else f"{count:,}"
    return f"{text} {one if count == 1 else several or one + 's'}"


def _who(name: str, producer_id: int, epoch: int) -> str:
    return f"{name or 'no known transactional id'} (producer {producer_id}, epoch {epoch})"


def known_here(names: Sequence[str], release: str) -> tuple[str, ...]:
    """Return which of these findings were seen on a release."""
    found = [each for each in FINDINGS if each.name in names and release in map(column_of_exact, each.seen)]
    return tuple(f"{each.name} ({each.status})" for each in found)


def _of_broken(broken: Broken, found: Examined) -> Line:
    first, second = broken.first, broken.second
    name = broken.transactional_id or found.names.get(second.producer_id, "")
    gap = f"{(second.time_ms - first.time_ms) / 1000:.3f} s" if first is not None else "some time"
    where = _at(first) if first is not None else "an earlier offset"
    says = REPEATED[broken.kind].format(
        first=where, sequence=second.sequence, gap=gap, epoch=second.epoch, what=second.what.upper()
    )
    return Line(
        broken.kind, broken.kind != "abort_without", f"{_who(name, second.producer_id, second.epoch)}: {says}.",
        (TODO.get(broken.kind, ASK),), KINDS[broken.kind].rules,
        known_here(DEFECTS.get(broken.kind, ()), found.release),
        *second.place, second.offset, name, second.producer_id, second.epoch, iso(second.time_ms),
        _at(first) if first is not None else "",
    )  # fmt: skip


def _at(trace: Trace) -> str:
    return f"{trace.place}@{trace.offset}"


def _of_fenced(fenced: Fenced) -> Line:
    place = fenced.places[0] if fenced.places else Place("__transaction_state", -1)
    who = _who(fenced.transactional_id, fenced.producer_id, fenced.epoch)
    what = (
        f"{who}: its transaction of {iso(fenced.started_ms)} was aborted at {iso(fenced.aborted_ms)}, before its "
        f"time-out, and at {iso(fenced.again_ms)} the id was initialised anew, with epoch {fenced.again_epoch}: a new "
        "instance fenced the one before, or that one aborted and restarted. What the old instance sends is refused, "
        "and nothing of that transaction is visible to read_committed."
    )
    return Line(
        "fenced zombie", False, what, ("Nothing, if one instance took over from another; if two run at once under this "
        "id, give each its own.",), (), (), *place, -1, fenced.transactional_id, fenced.producer_id, fenced.epoch,
        iso(fenced.aborted_ms),
    )  # fmt: skip


def _of_open(opened: Opened, found: Examined) -> Line:
    active, listed = opened.active, opened.listed
    who = _who(opened.transactional_id, active.producer_id, opened.epoch)
    states = f"{listed.state} under epoch {listed.epoch}" if listed is not None else "nothing of this producer"
    says = f"{who}: its transaction is open since {iso(opened.since_ms)} and {_VERDICTS[opened.verdict]}: its "
    says += f"coordinator{_node(opened)} has {states}"
    if listed is not None and listed.state == "Ongoing" and listed.start_ms >= 0:
        says += f", since {iso(listed.start_ms)}, with a time-out at {iso(listed.start_ms + listed.timeout_ms)}"
    if opened.prepared is not None:
        decided = "COMMIT" if opened.prepared.outcome == COMMIT.upper() else "ABORT"
        says += f", and decided {decided} at {iso(opened.prepared.time_ms)}"
    says += f". read_committed stops here, before {_many(opened.waiting, 'offset')}."
    if opened.verdict == "hanging":
        says += f" It can have come so: {'; or '.join(loaded.model.variant.says for loaded in opened.ways)}."
    wrong = opened.verdict not in ("slow", "running")
    rules = ("txn.P10",) if wrong else ()
    variants = {loaded.model.name for loaded in opened.ways if loaded.model.faults}
    if active.place.topic == OFFSETS:
        variants = {ON_OFFSETS} if any("dropped" in each for each in variants) else variants
    names = [each.name for each in FINDINGS if variants & set(each.variants)] if opened.verdict == "hanging" else []
    return Line(
        opened.verdict, wrong, says, tuple(_todo(opened)), rules, known_here(names, found.release), *active.place,
        active.first_offset, opened.transactional_id, active.producer_id, opened.epoch, iso(opened.since_ms),
        futures=tuple(_as_dict(loaded) for loaded in opened.ways),
    )  # fmt: skip


_VERDICTS = {
    "hanging": "hangs", "slow": "is slow, not hanging", "running": "is under way",
    "overdue": "is overdue", "stuck": "waits for its marker",
    "unexplained": "is unexplained: no run of the models of this release reaches what is seen, within the bounds",
}  # fmt: skip


def _node(opened: Opened) -> str:
    return (
        f" (node {opened.listed.coordinator})" if opened.listed is not None and opened.listed.coordinator >= 0 else ""
    )


def _todo(opened: Opened) -> Iterator[str]:
    """Yield what to do, and what each decision may break."""
    place = opened.active.place
    abort = f"kafka-transactions.sh abort --topic {place.topic} --partition {place.partition}"
    abort += f" --start-offset {opened.active.first_offset}"
    safe = {each: _safe(opened.ways, each) for each in (COMMIT, ABORT, FENCED, LEFT)}
    if opened.verdict == "slow":
        yield (
            "Wait for its owner, or fence it by a new instance with its transactional id: neither breaks a promise."
            if safe[LEFT] and safe[FENCED]
            else "Wait for its owner."
        )
    elif opened.verdict == "overdue":
        yield "Its coordinator does not abort it: fence it by InitProducerId, or restart the coordinator's node."
    elif opened.verdict == "stuck":
        yield f"Its coordinator cannot write the marker: look for the leader of {place}."
    elif opened.verdict == "hanging" and safe[ABORT] and not safe[COMMIT]:
        yield f"ABORT it: {abort}."
    elif opened.verdict == "hanging" and safe[COMMIT] and not safe[ABORT]:
        yield (
            "COMMIT it, by a WriteTxnMarkers request to the leader, since Kafka's own tools only abort. Until then "
            "keep its producer from beginning another transaction, whose end would decide this one."
        )
    elif opened.verdict == "hanging":
        yield "Which is right is not in these logs: ask its owner whether the transaction was committed."
    else:
        yield "Read again with all log directories, or with more rights; nothing else can be told of it."
    for decision in safe:
        if any(each.possible for loaded in opened.ways for each in loaded.futures if each.decision == decision):
            name = decision.upper() if decision in (COMMIT, ABORT) else decision.capitalize()
            yield f"{name}: {_breaks(opened.ways, decision)}."


def _safe(ways: Sequence[Loaded], decision: str) -> bool:
    """Return whether a decision is possible, was explored to the end, and breaks no promise in any way to come here."""
    mine = [each for loaded in ways for each in loaded.futures if each.decision == decision and each.possible]
    return bool(mine) and all(each.complete and not each.breaks for each in mine)


def _breaks(ways: Sequence[Loaded], decision: str) -> str:
    """Return which promises some run breaks after a decision, in the fewest steps."""
    mine: Mapping[str, Future] = {
        loaded.model.name: each for loaded in ways for each in loaded.futures if each.decision == decision
    }
    fewest: dict[tuple[str, str], int] = {}
    for each in (each for future in mine.values() for each in future.breaks):
        key = each.rule, each.promise
        fewest[key] = min(each.steps, fewest.get(key, each.steps))
    whole = all(future.complete for future in mine.values())
    if not fewest:
        return "no promise is broken" if whole else "no promise is broken as far as it was explored"
    said = [
        f"{rule} ({name_in_words(promise)}) " + (f"in {_many(steps, 'step')}" if steps else "at once")
        for (rule, promise), steps in sorted(fewest.items(), key=lambda pair: pair[1])
    ]
    return f"can break {', '.join(said)}"


def _as_dict(loaded: Loaded) -> dict[str, Any]:
    return {
        "variant": loaded.model.name, "bounds": dict(loaded.bounds), "states": loaded.fitting,
        "complete": loaded.complete, "came": [str(event) for event in loaded.came],
        "decisions": [
            {
                "decision": future.decision, "possible": future.possible, "states": future.states,
                "complete": future.complete,
                "breaks": [
                    {"promise": each.promise, "rule": each.rule, "steps": each.steps, "sure": each.sure,
                     "run": [str(event) for event in each.trace.events]}
                    for each in future.breaks
                ],
            }
            for future in loaded.futures
        ],
    }  # fmt: skip
