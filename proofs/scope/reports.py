"""This module renders a finding for those who would repair it: what happens, step by step in the terms of the system,
where it was seen, and what each repair is worth in the models.

The steps are a shortest run of a variant, computed when the text is made. The verdicts are computed too: each repair is
judged in the bounds within which the run exists without it, and proved without bounds where there is a proof."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.model.rules import RULES
from fencepost.proofs.results import Trace
from fencepost.proofs.scope.findings import FINDINGS, Finding
from fencepost.properties.catalogue import ProtocolEntry, Variant, bounds_of, find
from fencepost.properties.entries import CatalogueError
from fencepost.properties.nearest import instead


@dataclass(frozen=True)
class Repair:
    """A `Repair` is a change of the system, ``where`` it is made, and the variants (protocol/variant) that have it."""

    name: str
    where: str
    variants: tuple[str, ...]


@dataclass(frozen=True)
class Report:
    """A `Report` explains the finding of the same name. ``run`` is the property, as protocol/variant/property, of which
    a shortest counterexample is given. ``steps`` has a sentence by action, with the action's parameters and the
    ``task`` of its instance in braces. ``conditions`` says what it takes. ``unrepaired`` names variants without any
    repair, one for each of the models in which repairs are judged."""

    finding: str
    run: str
    conditions: str
    steps: Mapping[str, str]
    unrepaired: tuple[str, ...]
    repairs: tuple[Repair, ...]
    advice: tuple[str, ...]


_NUMBER, _CONFIGURATION, _REVOKED = "(a) compare the number", "(b) drop the configuration", "(c) revoke the task"

REMOVED_TASK = Report(
    "a removed task is started again",
    "task-counts/core-shipped-claims/no_zombie",
    "Exactly-once source support, incremental cooperative rebalancing (`connect.protocol` as it is by default), and "
    "a connector that gets fewer tasks than it had. Then any of these: the worker of a task that is no more was "
    "away for longer than its session; the rebalance is the first of a new leader; or the leader's assignment "
    "before it did not get through. In each, `IncrementalCooperativeAssignor.performTaskAssignment` has not got the "
    "task among those that it assigned last (`deleted = diff(previousAssignment, configured)`), and leaves it with "
    "the worker that names it.",
    {
        "elect": "A worker leads the group and claims the config topic "
        "(`KafkaConfigBackingStore.claimWritePrivileges`).",
        "reconfigure": "Set {g} of task configurations is committed, of {n} task(s) "
        "(`DistributedHerder.publishConnectorTaskConfigs`, `KafkaConfigBackingStore.putTaskConfigs`).",
        "assign": "A worker gets task c-{task} of set {g}, and starts it: start {k} (`DistributedHerder.startTask`).",
        "start_round": "The leader begins a round of fencing (`DistributedHerder.doFenceZombieSourceTasks`).",
        "fence": "It fences the transactional id of task c-{i} (`Worker.fenceZombies`, `Admin.fenceProducers`).",
        "check_round": "It has fenced all ids that the latest task count record covers, and looks for a newer set.",
        "write_count": "It writes the task count record of the newest set "
        "(`KafkaConfigBackingStore.putTaskCountRecord`).",
        "assign_claimed": "The worker of start {k} has read the newest set, which has no task c-{task}. It stops the "
        "task (`processTaskConfigUpdatesWithIncrementalCooperative`) and names it when it joins; the assignor "
        "leaves it there; `startTask` takes its old configuration from `ClusterConfigState.taskConfig`, as nothing "
        "has removed it from `KafkaConfigBackingStore.taskConfigs`, and the newest `taskConfigGeneration`.",
        "answer": "Start {k} of task c-{task} asks for a round, and is answered that there is nothing to fence "
        "(`DistributedHerder.fenceZombieSourceTasks`).",
        "open_producer": "Start {k} of task c-{task} opens its producer, with an epoch that comes after any fence "
        "(`ExactlyOnceWorkerSourceTask.prepareToInitializeTask`, `initTransactions`).",
        "check_after": "Start {k} of task c-{task} looks again: the generation is that with which it started, and "
        "the task is assigned. It polls and commits (`DistributedHerder.verifyTaskGenerationAndOwnership`).",
    },
    ("task-counts/core-removed", "task-counts/shipped-cooperative-claims", "task-counts/shipped-eager-restarted",
     "task-count-deletion/deletion-claims"),
    (
        Repair(
            _NUMBER, "`startTask`, and `verifyTaskGenerationAndOwnership`: refuse a task whose number is not below "
            "`configState.taskCount(connector)`",
            ("task-counts/core-removed-refused", "task-counts/cooperative-claims-refused",
             "task-counts/cooperative-restarted-refused", "task-count-deletion/deletion-claims-refused"),
        ),
        Repair(
            _CONFIGURATION,
            "`KafkaConfigBackingStore.processTasksCommitRecord`: remove from `taskConfigs` what the new count excludes",
            ("task-counts/core-removed-dropped", "task-counts/cooperative-restarted-refused",
             "task-count-deletion/deletion-claims-refused"),
        ),
        Repair(
            _REVOKED, "`IncrementalCooperativeAssignor.performTaskAssignment`: `deleted` from what is active too",
            ("task-counts/core-removed-taken", "task-counts/cooperative-claims-taken",
             "task-counts/cooperative-restarted-taken"),
        ),
        Repair("(a) and (b)", "", ("task-counts/core-removed-refused-dropped",)),
        Repair("(a) and (c)", "", ("task-counts/core-removed-refused-taken",)),
        Repair("(b) and (c)", "", ("task-counts/core-removed-dropped-taken",)),
        Repair("all three", "", ("task-counts/core-removed-all-three",)),
    ),
    (
        "(a) is enough, and so is (b); neither needs another. Of (a), either of its two places is enough: at the "
        "start, count and generation are of one snapshot, and the second look compares that generation (`fencepost "
        "necessity task-counts --rule 618.52`).",
        "(b) has to be where `connectorTaskCounts` is set, after `taskConfigs.putAll`, and not in the branch of "
        "complete sets alone: where compaction has left a worker an incomplete set, Kafka's class sets the count "
        "and leaves the generation and the old configurations, so that both looks find the same generation. A start "
        "without configuration fails in `new TaskConfig(null)`, and the task is FAILED until the next rebalance; "
        "(a) can say why.",
        "(c) alone is enough for every rebalance, also for the first of a new leader. It is not where no rebalance "
        "is asked: `processTasksCommitRecord` calls `onTaskConfigUpdate` when it has released its lock, and a "
        "restart of the task in between (`restartTask`) finds the new count and generation, the old assignment and "
        "no `needsReconfigRebalance`. That is a race of two threads within one worker, as narrow as the time for "
        "which the other thread is not scheduled; eager rebalances have it too. (c) spares the cluster a rebalance, "
        "and the healthy task that load balancing may revoke instead.",
        "With (a) or (b), a worker that learns of the new set when its start has begun is refused by the generation, "
        "as before. A connector that is deleted and created again, and one that gets fewer tasks and then more, are "
        "no exception: sets are numbered on, and a task that the newest set has again starts with that set's "
        "configuration.",
        "These verdicts are of models in which a fencing round that is over does not answer any more (618.51): that "
        "is a finding of its own, which breaks 618.P1 by itself.",
        "618.P2 (no source record is committed twice) rests on 618.P1: with it, it is proved of offsets in the "
        "worker's topic (source-offsets/shipped), and without it broken (source-offsets/shipped-removed-task). No "
        "model joins both.",
    ),
)  # fmt: skip
JUDGED = ("no_zombie", "all_covered", "covered")
"""These are the promises that the finding breaks, by property; the others are not what a repair is for."""
REPORTS = {REMOVED_TASK.finding: REMOVED_TASK}


def report(name: str) -> str:
    """Return the text on the finding of a name as Markdown. Raise CatalogueError for one that has none."""
    if name not in REPORTS:
        raise CatalogueError(f"there is no report on {name!r}; {instead(name, list(REPORTS), 'fencepost findings')}")
    it, finding = REPORTS[name], next(each for each in FINDINGS if each.name == name)
    return "\n".join((*_head(finding, it), *_run(it), *_table(it), *(f"- {each}" for each in it.advice), ""))


def _head(finding: Finding, it: Report) -> Iterator[str]:
    yield f"# {finding.name[:1].upper()}{finding.name[1:]}\n\n{finding.what}\n\n{finding.where}; {finding.version}."
    yield f"Seen by `{finding.program}` on {', '.join(finding.seen)} ({finding.means})."
    yield f"\nPublic record: {finding.note}.\n\n## What it breaks\n"
    for number in finding.breaks:
        yield f"- {number} ({RULES[number].kind}): {RULES[number].says}"
    yield f"\n## What it takes\n\n{it.conditions}\n"


def _run(it: Report) -> Iterator[str]:
    protocol, variant, prop = it.run.split("/")
    entry, found = _variant(f"{protocol}/{variant}")
    trace = _shortest(found, prop)
    assert trace is not None, it.run
    yield f"## A shortest run\n\nOf the model {it.run.rpartition('/')[0]}: {len(trace)} steps, and no run is shorter "
    yield f'(`fencepost show {entry.name}/{found.name} "{prop.replace("_", " ")}"`).\n'
    for n, (event, state) in enumerate(zip(trace.events, trace.states[1:], strict=True), 1):
        yield f"{n}. {it.steps[event.action].format(**event.parameters, task=_task(state, event.parameters))}"


def _task(state: Mapping[str, Any], parameters: Mapping[str, int]) -> int:
    """Return the task of the step's instance; maps leave out zeros."""
    tasks: Mapping[tuple[int, ...], int] = state["task"]
    return tasks.get((parameters.get("k", 0),), 0)


def _table(it: Report) -> Iterator[str]:
    yield "\n## What each repair is worth\n\n| repair | where | model | bounds | verdicts |\n|---|---|---|---|---|"
    for repair in (Repair("none", "as released", it.unrepaired), *it.repairs):
        for n, name in enumerate(repair.variants):
            what = (repair.name, repair.where) if n == 0 else ("", "")
            yield f"| {' | '.join((*what, *_verdicts(name)))} |"
    yield ""


def _verdicts(name: str) -> tuple[str, str, str]:
    _, variant = _variant(name)
    bounds = bounds_of(variant, "smoke")
    words = []
    for prop, item in variant.asked.items():
        if item.role == "promise" and prop in JUDGED:
            words.append(f"{item.rule} {_verdict(variant, prop)}")
    return name, ", ".join(f"{key} {value}" for key, value in bounds.items() if value), "; ".join(words)


def _verdict(variant: Variant, prop: str) -> str:
    from fencepost.proofs.engines.induction import prove

    trace = _shortest(variant, prop)
    if trace is not None:
        return f"broken in {len(trace)} steps"
    if not (variant.main and variant.is_proved_in("smoke")):
        return "holds in every state within these bounds"
    proof = prove(variant.spec, variant.promised)
    return "proved without bounds" if proof.verdict(prop) == "holds" else "holds within these bounds, not proved"


def _shortest(variant: Variant, prop: str) -> Trace | None:
    from fencepost.proofs.engines.explore import explore

    asked = {prop: variant.properties.properties[prop]}
    return explore(variant.spec, asked, bounds_of(variant, "smoke"), stop_when_violated=True).traces.get(prop)


def _variant(name: str) -> tuple[ProtocolEntry, Variant]:
    entry, variant = find(name)
    assert variant is not None, name
    return entry, variant
