"""This module has, for some findings, what those need who would repair them: how it happens, and what was proposed."""

from collections.abc import Mapping
from dataclasses import dataclass


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
    "a connector that gets fewer tasks than it had. Then one of these: the worker of a task that is no more was "
    "away for longer than its session; or the rebalance is the first of a new leader, and no worker was away. In each, "
    "`IncrementalCooperativeAssignor.performTaskAssignment` has not got the task among those that it assigned last "
    "(`deleted = diff(previousAssignment, configured)`), and leaves it with the worker that names it. It does "
    "so too where its assignment before, of the older set, did not get through. That was seen of Kafka's "
    "classes alone: on a live 4.3.1, where the assignment that was lost was of the newest set, the next one revoked "
    "the task again (`previousRevocation`).",
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
        "618.P2 (no source record is committed twice) rests on 618.P1: where that holds, 618.P2 is proved of offsets "
        "in the worker's topic, and without it 618.P2 is broken (`fencepost releases --promise 618.P2`). No model "
        "joins both.",
    ),
)  # fmt: skip
REPORTS = {REMOVED_TASK.finding: REMOVED_TASK}
"""`REPORTS` has, by name, the findings on which there is a text for those who would repair them."""
