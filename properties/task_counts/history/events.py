"""The events of exactly-once source connectors (KIP-618, who may run): kinds, columns, and which of them speaks where.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Below 10 is what happens to workers, from 10 on the group, from 20 on the config topic and who may write to it, from 40
on fencing rounds, from 50 on tasks, from 60 on what their producers write.

A set of task configurations is named by the place of its commit record in the config topic, which is the same number
for every worker; Kafka's own generations are counted by each worker for itself.
"""

from types import MappingProxyType

from fencepost.properties.history.vocabulary import Column, EventKind, Vocabulary

PAIR = "producer_id epoch"
RECORD = f"node connector task set count offset {PAIR}"
ROUND = f"node connector set count request {PAIR} status error"
TASK = f"node connector task instance set {PAIR} error"
GROUP = "node member offset"

TOPIC = "topic"  # a reader of the config topic sees it
OUTSIDE = "outside"  # what users, brokers and the group show besides


class Kind(EventKind):
    """What happened in one event: code, columns, and who shows it."""

    worker_started = 1, "node support", OUTSIDE
    # crashed or shut down; requests and transactions that it sent stay where they are
    worker_stopped = 2, "node", OUTSIDE
    worker_stalled = 3, "node", OUTSIDE  # stands still, and may go on later with what it knew
    worker_resumed = 4, "node", OUTSIDE
    # a user's request was accepted: a connector with so many tasks; -1 tasks: its deletion
    asked = 5, "node connector count", OUTSIDE

    joined = 10, GROUP  # the worker asks the group in
    member_expired = 11, GROUP  # the group's session of the worker ended: the others rebalance without it
    assignment_made = 12, GROUP  # by the leader, with the offset of the config topic that it carries
    assigned = 13, f"{GROUP} count"  # the worker takes its assignment; `count` is 1 if it leads
    task_assigned = 14, "node connector task member"
    task_revoked = 15, "node connector task member"

    topic_claimed = 20, f"node {PAIR}"  # the leader's transactional producer is open: nobody else's writes from now on
    claim_failed = 21, f"node {PAIR} error"
    leadership_lost = 22, f"node {PAIR} error"  # the worker knows now that it does not lead, or may not write
    connector_written = 23, RECORD, TOPIC  # this and the next five: a record is committed in the config topic
    connector_tombstoned = 24, RECORD, TOPIC
    task_config_written = 25, RECORD, TOPIC
    set_written = 26, RECORD, TOPIC  # the commit record; `set` is its offset
    count_written = 27, RECORD, TOPIC  # the count record; `set` is the latest set before it
    count_tombstoned = 28, RECORD, TOPIC
    write_refused = 29, "node connector error"
    topic_read = 30, "node offset"  # the worker has read the config topic on, up to the exclusive `offset`
    compacted = 31, "offset"  # the config topic, up to `offset`

    round_asked = 40, f"{ROUND} task"
    round_started = 41, ROUND  # `set`: the latest that the leader knows; `count`: ids to fence, from 0
    id_fenced = 42, f"{ROUND} task", OUTSIDE  # the admin's answer for one transactional id
    round_checked = 43, ROUND  # read to the end after fencing; status 409 if there is a newer set
    round_failed = 44, ROUND
    round_answered = 45, f"{ROUND} task"  # who asked takes the answer

    task_starting = 50, TASK  # `set`: the one that the instance starts from
    # before the producer is opened: status 200 if a count stands after the latest set, else 409
    task_checked = 51, f"{TASK} status"
    producer_opened = 52, TASK, OUTSIDE
    task_checked_again = 53, f"{TASK} status"  # after it: status 409 if there is a set newer than the instance's
    task_running = 54, TASK, OUTSIDE  # polls from now on
    task_abandoned = 55, TASK
    task_failed = 56, TASK, OUTSIDE
    task_stopped = 57, TASK, OUTSIDE
    task_left_running = 58, TASK  # did not stop in time, and is no longer waited for

    records_sent = 60, TASK, OUTSIDE  # of a transaction, open now
    transaction_committed = 61, TASK, OUTSIDE
    transaction_refused = 62, TASK, OUTSIDE  # the producer learns that it is fenced


SUPPORT = MappingProxyType({"none": 0, "disabled": 1, "preparing": 2, "enabled": 3})

COLUMNS = (
    Column("node", "int32", "worker that acted; -1: somebody outside the cluster"),
    Column("connector", "int32", "connector, numbered from 0"),
    Column("task", "int32", "number of the task within its connector, from 0"),
    Column("instance", "int64", "a task's thread, unique in its history: every start is another one"),
    Column("set", "int64", "set of task configurations: the offset of its commit record in the config topic"),
    Column("count", "int32", "tasks: of a set, of a count record, asked for; ids to fence", "tasks"),
    Column("offset", "int64", "offset in the config topic", "records"),
    Column("member", "int32", "generation of the workers' group", "rebalances"),
    Column("producer_id", "int64", "producer id: one for each transactional id"),
    Column("epoch", "int32", "producer epoch", "bumps"),
    Column("request", "int64", "number of a request for a round, unique in its history"),
    Column("support", "int8", "exactly.once.source.support: 0 not there yet, 1 disabled, 2 preparing, 3 enabled"),
    Column("status", "int32", "HTTP status of an answer; of a check 200 if it passed, 409 if not"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    Column("error", "int16", "Kafka error code of an answer; 0 = none", absent=0),
)  # fmt: skip

TASK_COUNTS = Vocabulary("task-counts", Kind, COLUMNS, public=(TOPIC, OUTSIDE))
