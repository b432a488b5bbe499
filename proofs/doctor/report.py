"""This module says what was found in a cluster: a headline, then a finding a sentence, with what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from fencepost.proofs.cases import Case
from fencepost.proofs.doctor.checks import KINDS
from fencepost.proofs.doctor.defects import OFFSETS_HANG, known_here
from fencepost.proofs.doctor.diagnosis import Copies, Examined, Fenced, Opened
from fencepost.proofs.doctor.elsewhere import Pair
from fencepost.proofs.doctor.futures import (
    ABORT,
    ABORT_BOTH,
    COMMIT,
    COMMIT_BOTH,
    FENCED,
    LATE,
    LEFT,
    RESUMED,
    RETAINED,
    STOPPED,
    TERMINATED,
    Future,
    Loaded,
)
from fencepost.proofs.doctor.same_key import SameKey
from fencepost.proofs.doctor.traces import Broken, Trace
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.recording.logs.log_dirs import Place
from fencepost.proofs.recording.transactions.group_offsets import TOPIC as OFFSETS

HANGS = ("txn.P10", "618.P1")
"""A transaction that hangs has broken these promises, which is not reported once more."""
REPEATED = {
    "duplicate": "the batch at {first} stands there once more, with the same sequence number {sequence}, {gap} later",
    "gap": "the batch with sequence number {sequence} does not follow on what the partition had of its producer",
    "fenced": "a batch of epoch {epoch} was taken although the partition had a later epoch",
    "old_marker": "a marker of epoch {epoch} was taken although the partition had a later epoch",
    "joined": "a batch of epoch {epoch} joined an open transaction of an older epoch: one marker decides both",
    "coordinator_epoch": "a marker of a deposed coordinator was taken after one of its successor",
    "last_epoch": "a transaction uses epoch 32767, which is never handed out",
    "skipped": "the coordinator aborted an open transaction under an epoch two or more above its own",
    "late_marker": "the {what} marker of an earlier transaction ended the next one while that was open",
    "marker_without": "the partition has a COMMIT marker, and no record of its coordinator decides so",
    "abort_without": "the partition has an ABORT marker, and no record of its coordinator decides so",
    "unmarked": "its coordinator completed {decided} ({first}), and the partition has no marker of that: {next}",
    "both_outcomes": "the partition has the {what} marker of a transaction that its coordinator decided the other way",
    "decided_twice": "the coordinator decided the same transaction twice, in both ways",
    "transition": "the coordinator went to {what} from a state from which it never goes there",
    "epoch_back": "the epoch of the transactional id went back",
    "hanging": "its transaction is open, and its coordinator has not, or has ended, that transaction",
    "not_bumped": "the coordinator ended a transaction of version 2 without a new epoch",
}
"""By a kind of `checks.KINDS`, what happened."""
NEXT = ("the next marker, which is here, decided its records too", "its records, from here on, are open, and the next "
        "decision of the same id takes them with it")  # fmt: skip
"""What came of records without a marker: another marker ended them, or none did yet."""
ADVICE = {
    "duplicate": "Readers get it twice, unless its transaction aborts: drop one copy downstream, by topic, partition "
    "and offset, and ask the owner of its producer for client and version.",
    "hanging": "Ask fencepost doctor without --follow, which explores what COMMIT and ABORT may break.",
    "gap": "Something may be missing before it, or was deleted: compare with what its producer sent.",
    "skipped": "Nothing is lost by it: the id has its epochs used up sooner.",
    "abort_without": "If an operator aborted it (kafka-transactions.sh abort), this is that; otherwise ask who did.",
}
HARMLESS = ("abort_without", "skipped")
"""A marker of an operator, and epochs that are used up early, are worth a line and no alarm."""
ASK = "Keep the log directories of this partition and of __transaction_state: they are the evidence for a bug report."


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


def report(found: Examined, rows: Sequence[Line], again: SameKey | None) -> dict[str, Any]:
    """Return what `--json` writes, without the version of the schema."""
    made: dict[str, Any] = {
        "source": found.name, "release": found.release, "transaction_version": found.version,
        "as_of": iso(found.now_ms), "transactional_ids": found.ids, "partitions": list(map(str, found.places)),
        "batches": found.batches, "since": iso(found.first_ms), "until": iso(found.last_ms),
        "findings": [asdict(line) for line in rows], "broken": found.count, "undecided": found.gaps,
    }  # fmt: skip
    if again is not None:
        pairs = [
            {"first": f"{p.first}@{p.first_offset}", "second": f"{p.second}@{p.second_offset}",
             "key": p.key.decode(errors="backslashreplace")}
            for p in again.pairs
        ]  # fmt: skip
        made["same_key"] = {"records": again.records, "repeated": again.repeated, "pairs": pairs}
    return made


def cases(found: Examined, rows: Sequence[Line], again: SameKey | None) -> list[Case]:
    """Return a case for each finding, for each thing that was not decided, which fails, and for ``--same-key``."""
    made = [
        Case(found.name, f"{line.where} {line.kind}", "doctor", "failed" if line.wrong else "passed", line.says,
             "\n".join(line.todo), rule=line.rules[0] if line.rules else line.kind)
        for line in rows
    ]  # fmt: skip
    made += [Case(found.name, "what was asked", "doctor", "failed", f"was not decided: {gap}") for gap in found.gaps]
    if again is not None:
        says = f"{again.repeated:,} of {again.records:,} records have key and value of an earlier transaction"
        made.append(Case(found.name, "same key", "doctor", "failed" if again.repeated else "passed", says))
    return made or [Case(found.name, "transactions", "doctor", "passed", "break no rule that was looked for")]


def iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if ms >= 0 else "an unknown time"


def lines(found: Examined) -> list[Line]:
    """Return what was found, what breaks a rule first."""
    opened = [_of_open(each, found) for each in found.opened if each.verdict != "running"]
    every = [*opened, *(of_broken(each, found) for each in found.broken), *map(_of_fenced, found.fenced)]
    return sorted(every, key=lambda line: not line.wrong)


def headline(found: Examined, rows: Sequence[Line]) -> str:
    wrong = sum(line.wrong for line in rows) + found.count - len(found.broken)
    topics = len({place.topic for place in found.places})
    head = f"{_many(wrong, 'finding')} in {_many(found.ids, 'transactional id')}, {_many(topics, 'topic')}, "
    head += _many(found.batches, "batch", "batches")
    if found.last_ms >= 0:
        head += f", {iso(found.first_ms)} to {iso(found.last_ms)}"
    running = sum(each.verdict == "running" for each in found.opened)
    head += f"; {_many(running, 'transaction')} under way" if running else ""
    release = (
        f"Kafka {found.known_release}" if found.known_release else f"of an unknown release, judged as {found.release}"
    )
    return f"{head} ({release}, transaction version {found.version})"


def _many(count: int, one: str, several: str = "") -> str:
    text = f"{count / 1e6:.1f} M" if count >= 1_000_000 else f"{count:,}"
    return f"{text} {one if count == 1 else several or one + 's'}"


def _who(name: str, producer_id: int, epoch: int) -> str:
    return f"{name or 'a producer without a known transactional id'} (producer {producer_id}, epoch {epoch})"


def of_broken(broken: Broken, found: Examined) -> Line:
    """Return the finding that a violation of a rule is."""
    first, second, copies = broken.first, broken.second, found.copies.get(broken)
    name = broken.transactional_id or found.names.get(second.producer_id, "")
    gap = f"{(second.time_ms - first.time_ms) / 1000:.3f} s" if first is not None else "some time"
    where = _at(first) if first is not None else "an earlier offset"
    says = REPEATED[broken.kind].format(
        first=where, sequence=second.sequence, gap=gap, epoch=second.epoch, what=second.what.upper(),
        decided=first.what.upper() if first is not None else "", next=NEXT[second.what == "data"],
    )  # fmt: skip
    says += f". {_how(copies)}" if copies is not None else "."
    return Line(
        broken.kind, broken.kind not in HARMLESS, f"{_who(name, second.producer_id, second.epoch)}: {says}",
        (ADVICE.get(broken.kind, ASK),), KINDS[broken.kind].rules,
        known_here(broken.kind, found.known_release),
        *second.place, second.offset, name, second.producer_id, second.epoch, iso(second.time_ms),
        _at(first) if first is not None else "",
    )  # fmt: skip


def _how(copies: Copies) -> str:
    """Return how a duplicate can have come about."""
    same = "The two have the same bytes" if copies.same else "The two have other records, under one number"
    if copies.epochs[0] != copies.epochs[1]:
        how = f"the leader of epoch {copies.epochs[1]} took it, and that of epoch {copies.epochs[0]} had the first copy"
        return f"{same}: {how}, so that the new leader did not know of it, or had started again from a snapshot."
    return (
        f"{same}, under one leader (epoch {copies.epochs[0]}), which had forgotten its producer after "
        "producer.id.expiration.ms, or was given the batch by another way than a producer's request."
    )


def _at(trace: Trace) -> str:
    return f"{trace.place}@{trace.offset}"


def _of_fenced(fenced: Fenced) -> Line:
    place = fenced.places[0] if fenced.places else Place("__transaction_state", -1)
    who = _who(fenced.transactional_id, fenced.producer_id, fenced.epoch)
    what = (
        f"{who}: its transaction of {iso(fenced.started_ms)} was aborted at {iso(fenced.aborted_ms)}, before its "
        f"time-out, and at {iso(fenced.again_ms)} the id was initialised anew, with epoch {fenced.again_epoch}: a new "
        "instance fenced the one before, or that one aborted and restarted. Its coordinator completed the abort; a "
        "later write of the old instance, or a missing marker, is a finding of its own, in the partitions that were "
        "read."
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
    says = f"{who}: open since {iso(opened.since_ms)}, it {_VERDICTS[opened.verdict]}: its "
    says += f"coordinator{_node(opened)} has {states}"
    if listed is not None and listed.state == "Ongoing" and listed.start_ms >= 0:
        until = f"with a time-out at {iso(listed.start_ms + listed.timeout_ms)}"
        says += f", since {iso(listed.start_ms)}, {NO_END if opened.verdict == 'undecided' else until}"
    if opened.prepared is not None:
        decided = "COMMIT" if opened.prepared.outcome == COMMIT.upper() else "ABORT"
        says += f", and decided {decided} at {iso(opened.prepared.time_ms)}"
    says += f". Readers with read_committed stop here, {_many(opened.waiting, 'offset')} before the end."
    if opened.verdict == "hanging":
        ways = {loaded.model.name.partition("/")[2]: loaded.model.variant.says for loaded in opened.ways}
        says += f" {_hangs(opened)} It can have come so: "
        says += f"{'; or '.join(f'{way} ({name})' for name, way in ways.items())}."
    if opened.verdict == "torn":
        says += f" It is decided elsewhere, which is too early: {_there(opened.pairs)}."
    wrong = opened.verdict not in ("slow", "undecided", "running")
    rules = ("txn.P10",) if wrong else ()
    pairs = [loaded for pair in opened.pairs for loaded in pair.ways if loaded.model.faults or loaded.model.late]
    both = (loaded.model for loaded in (*opened.ways, *pairs))
    variants = {LATE[model.late] if model.late else model.name for model in both}
    if active.place.topic == OFFSETS:
        variants = {OFFSETS_HANG} if any("dropped" in each for each in variants) else variants
    known = known_here(opened.verdict, found.known_release, variants)
    return Line(
        opened.verdict, wrong, says, tuple(_todo(opened)), rules, known, *active.place, active.first_offset,
        opened.transactional_id, active.producer_id, opened.epoch, iso(opened.since_ms),
        futures=(
            *(_as_dict(loaded) for loaded in (*opened.ways, *opened.late)),
            *(_as_dict(loaded, pair) for pair in opened.pairs for loaded in pair.ways),
        ),
    )  # fmt: skip


_VERDICTS = {
    "hanging": "hangs", "torn": "is torn", "slow": "is slow, not hanging", "running": "is under way",
    "overdue": "is overdue", "stuck": "waits for its marker", "undecided": "is undecided",
    "unexplained": "is unexplained: no run of the models of this release reaches what is seen, within the bounds",
}  # fmt: skip


NO_END = (
    "and no time-out ends it: with 2147483647 ms its coordinator takes it for part of a two-phase commit, and whether "
    "it is committed is decided in the outside store, such as Flink's checkpoint or the log of an XA coordinator"
)


def _node(opened: Opened) -> str:
    return (
        f" (node {opened.listed.coordinator})" if opened.listed is not None and opened.listed.coordinator >= 0 else ""
    )


def _todo(opened: Opened) -> Iterator[str]:
    """Yield what to do, what each decision may break, and within which bounds that was explored."""
    place = opened.active.place
    abort = f"kafka-transactions.sh abort --topic {place.topic} --partition {place.partition}"
    abort += f" --start-offset {opened.active.first_offset}"
    commits, aborts = _safe(opened, COMMIT), _safe(opened, ABORT)
    if opened.verdict == "undecided":
        yield from _in_two_phases(opened)
        return
    if opened.verdict == "slow":
        safe = _safe(opened, FENCED) and _safe(opened, LEFT)
        yield "Wait for its owner" + (", or fence it by a new instance with its transactional id." if safe else ".")
    elif opened.verdict == "overdue":
        yield "Its coordinator does not abort it: fence it by a new instance, or restart the coordinator's node."
    elif opened.verdict == "stuck":
        yield f"Its coordinator cannot write the marker: look for the leader of {place}."
    elif opened.verdict == "unexplained":
        yield "Read again with the directories of all nodes, or with more rights; nothing else is known of it."
    elif commits == aborts:
        yield "Which is right is not in these logs: ask its owner whether it was committed. For ABORT: " + abort
    elif aborts:
        yield f"ABORT it: {abort}"
    else:
        yield (
            "COMMIT it, by a WriteTxnMarkers request to the leader, since Kafka's own tools only abort. Until then "
            "keep its producer from beginning another transaction, whose end would decide this one."
        )
    if opened.ways:
        yield " ".join(_explored(opened))


def _in_two_phases(opened: Opened) -> Iterator[str]:
    """Yield where the decision is, and for each thing that the store may have of it what to do."""
    state = f"{opened.active.producer_id}:{opened.epoch}"
    look = "While its job runs, let that decide it. If it does not, look in the outside store for its prepared state "
    look += f"{state} (Flink: the committables of the newest completed checkpoint or savepoint), which is in no log of "
    look += "Kafka, and start no producer of its id before."
    if not opened.ways:
        yield f"{look} What a decision may break was not explored: no model has what is seen of it."
        return
    refused = not any(future.possible for future in _after(opened, RETAINED))
    yield look + (" This release lets no new producer retain it (939.26)." if refused else "")
    for way in opened.ways:
        one = replace(opened, ways=(way,))
        do = next((words for decision, words in DO.items() if _safe(one, decision)), "decide nothing yet")
        do = do.format(name=opened.transactional_id)
        yield f"If the store {HAS[way.store]}: {do}. {' '.join(_explored(one))}"


def _hangs(opened: Opened) -> str:
    """Return what it means that a transaction hangs: no state without a fault looks so."""
    usual = opened.usual
    assert usual is not None
    partly = "" if usual.complete else ", which are not all within these bounds,"
    return (
        f"Without a fault of a partition no transaction looks so in any of the {usual.reached:,} states of "
        f"{usual.model.name.partition('/')[2]} that were explored{partly} ({_bounds(usual)})."
    )


def _bounds(loaded: Loaded) -> str:
    return ", ".join(f"{name} {size}" for name, size in loaded.bounds.items() if size and name not in UNTOLD)


def _there(pairs: Sequence[Pair]) -> str:
    """Return what was seen in other partitions."""
    return ", ".join(f"{', '.join(map(str, pair.places))} ({FATES[pair.other.fate]})" for pair in pairs)


def _explored(opened: Opened) -> Iterator[str]:
    """Yield what each decision may break, and within which bounds that was explored."""
    fine = [NAMED[decision] for decision in NAMED if _safe(opened, decision)]
    if fine:
        yield f"{', or '.join([fine[0], *(name.lower() for name in fine[1:])])}, no promise is broken."
    for decision, name in NAMED.items():
        mine = [each for each in _after(opened, decision) if each.possible]
        if mine and name not in fine:
            yield f"{name}, it {_breaks(mine)}."
    twice = [pair for pair in opened.pairs if pair.other.fate == "OPEN"]
    alone = [f for pair in twice for way in pair.ways for f in way.futures if f.decision in OF_ONE]
    if tears := [b.steps for f in alone for b in f.breaks if b.rule == "txn.P2"]:
        steps = f"in {_many(min(tears), 'step')}" if min(tears) else "at once"
        yield f"So decide all partitions alike: a marker in one alone can break txn.P2 (one fate) {steps}."
    late = [(name, [f for way in opened.late for f in way.futures if f.decision == decision and f.possible])
            for decision, name in NAMED.items()]  # fmt: skip
    if words := [f"{name[:1].lower()}{name[1:]}, it {_breaks(each)}" for name, each in late
                 if name in fine and any(f.breaks or not f.complete for f in each)]:  # fmt: skip
        yield f"An earlier transaction's marker that comes late can still decide it ({LATE_SAYS}): {'; '.join(words)}."
    yield from _looked_at(opened)
    pairs = [way for pair in opened.pairs for way in pair.ways]
    ways = [*opened.ways, *pairs, *opened.late]
    states, after = sum(way.fitting for way in ways), sum(f.states for way in ways for f in way.futures)
    which = ", ".join(dict.fromkeys(_name(way) for way in ways))
    whole = "" if all(way.complete for way in ways) else "; not all within these bounds was explored"
    two = f", and {_bounds(pairs[0])}" if pairs else ""
    yield (
        f"Explored: {states:,} states of {which} that look so, {after:,} after these; {_bounds(ways[0])}{two}; no "
        f"further fault{whole}."
    )


def _name(loaded: Loaded) -> str:
    return (LATE[loaded.model.late] if loaded.model.late else loaded.model.name).partition("/")[2]


def _looked_at(opened: Opened) -> Iterator[str]:
    """Yield which other partitions of the transaction were looked at, and which were not."""
    judged = [pair for pair in opened.pairs if pair.ways]
    if judged:
        yield f"Looked at with it: {_there(judged)}."
    for pair in opened.pairs:
        if not pair.ways:
            yield f"No model reaches what is seen in {_there([pair])} too, and so tears there were not judged."
    if opened.unseen is None:
        yield "No log that was read says which further partitions it has."
    elif opened.unseen:
        few = ", ".join(map(str, opened.unseen[:3])) + (" …" if len(opened.unseen) > 3 else "")
        yield f"Not looked at: {_many(len(opened.unseen), 'partition')} of it more ({few})."


NAMED = {
    COMMIT: "If a marker of yours commits it", ABORT: "If a marker of yours aborts it",
    RETAINED: "If a new producer retains and completes it", RESUMED: "If EndTxn commits it under its own epoch",
    TERMINATED: "If forceTerminateTransaction aborts it", STOPPED: "If it is aborted so once its producers are stopped",
    FENCED: "If a new instance fences it", LEFT: "If it is left alone",
}  # fmt: skip
FORCE = "kafka-transactions.sh forceTerminateTransaction --transactionalId {name}"
DO = {
    RETAINED: "begin a producer with keepPreparedTxn, and complete it with that state",
    RESUMED: "commit it by EndTxn under its own producer id and epoch, as Flink's transaction tool does (FLIP-572; "
    "Kafka's own tools only abort), and use the epoch in the answer for nothing",
    TERMINATED: FORCE, STOPPED: f"stop its producers for good, so that it can not be decided any more, then {FORCE}",
}  # fmt: skip
"""Of the decisions of two-phase commit that break nothing, the first of these is advised."""
HAS = {"COMMIT": "has it and says commit", "ABORT": "has it and says abort", "NONE": "has nothing of it"}
OF_ONE = {COMMIT: COMMIT_BOTH, ABORT: ABORT_BOTH}
"""Where a transaction is open in two partitions, this decision in one belongs to that decision in both."""
FATES = {None: "not known", "ABSENT": "nothing of it", "OPEN": "open", "COMMITTED": "committed", "ABORTED": "aborted"}
LATE_SAYS = "KIP-1228; in version 1 an epoch has many transactions"
UNTOLD = ("interventions", "absences", "tails", "restarts", "expiries")
"""The sentence has these bounds in words."""


def _after(opened: Opened, decision: str) -> list[Future]:
    """Return the futures of a decision in every way to come here, in all partitions in which it is open."""
    of_two = [
        (way, OF_ONE.get(decision, decision) if pair.other.fate == "OPEN" else decision)
        for pair in opened.pairs for way in pair.ways
    ]  # fmt: skip
    every = [*((way, decision) for way in opened.ways), *of_two]
    return [each for way, wanted in every for each in way.futures if each.decision == wanted]


def _safe(opened: Opened, decision: str) -> bool:
    """Return whether a decision is possible, was explored to the end, and breaks no promise in any way to come here."""
    mine = [each for each in _after(opened, decision) if each.possible]
    return bool(mine) and all(each.complete and not each.breaks for each in mine)


def _breaks(futures: Sequence[Future]) -> str:
    """Return which promises some run breaks after a decision, in the fewest steps."""
    fewest: dict[tuple[str, str], int] = {}
    for each in (each for future in futures for each in future.breaks if each.steps or each.rule not in HANGS):
        key = each.rule, each.promise
        fewest[key] = min(each.steps, fewest.get(key, each.steps))
    if not fewest:
        return "no promise is broken as far as it was explored, which is not all"
    words = [
        f"{rule} ({name_in_words(promise)}) " + (f"in {_many(steps, 'step')}" if steps else "at once")
        for (rule, promise), steps in sorted(fewest.items(), key=lambda pair: pair[1])
    ]
    return f"can break {', '.join(words)}"


def _as_dict(loaded: Loaded, pair: Pair | None = None) -> dict[str, Any]:
    return {
        "variant": loaded.model.name, "late_markers": bool(loaded.model.late),
        "store": loaded.store, "elsewhere": [] if pair is None else list(map(str, pair.places)),
        "bounds": dict(loaded.bounds),
        "states": loaded.fitting, "complete": loaded.complete, "came": [str(event) for event in loaded.came],
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
