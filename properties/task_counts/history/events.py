"""The events of exactly-once source connectors (KIP-618, who may run): kinds, columns, and which of them speaks where.

Codes and names are a file format: histories written years ago carry them. Add new ones at the end; never renumber.
Below 10 is what happens to workers, from 10 on the group, from 20 on the config topic and who may write to it, from 40
on fencing rounds, from 50 on tasks, from 60 on what their producers write.

A set of task configurations is named by the place of its commit record in the config topic, which is the same number
for every worker; Kafka's own generations are counted by each worker for itself.
"""

from enum import IntEnum
from types import MappingProxyType

import pyarrow as pa
from fencepost.properties.history.vocabulary import Column, Vocabulary


class Kind(IntEnum):
    """What happened in one event; the code is what stands in the `kind` column."""

    worker_started = 1
    worker_stopped = 2  # crashed or shut down; requests and transactions that it sent stay where they are
    worker_stalled = 3  # stands still, and may go on later with what it knew
    worker_resumed = 4
    asked = 5  # a user's request was accepted: a connector with so many tasks; -1 tasks: its deletion

    joined = 10  # the worker asks the group in
    member_expired = 11  # the group's session of the worker ended: the others rebalance without it
    assignment_made = 12  # by the leader, with the offset of the config topic that it carries
    assigned = 13  # the worker takes its assignment; `count` is 1 if it leads
    task_assigned = 14
    task_revoked = 15

    topic_claimed = 20  # the leader's transactional producer is open: nobody else's writes from now on
    claim_failed = 21
    leadership_lost = 22  # the worker knows now that it does not lead, or may not write
    connector_written = 23  # this and the next five: a record is committed in the config topic
    connector_tombstoned = 24
    task_config_written = 25
    set_written = 26  # the commit record; `set` is its offset
    count_written = 27  # the count record; `set` is the latest set before it
    count_tombstoned = 28
    write_refused = 29
    topic_read = 30  # the worker has read the config topic on, up to the exclusive `offset`
    compacted = 31  # the config topic, up to `offset`

    round_asked = 40
    round_started = 41  # `set`: the latest that the leader knows; `count`: ids to fence, from 0
    id_fenced = 42  # the admin's answer for one transactional id
    round_checked = 43  # read to the end after fencing; status 409 if there is a newer set
    round_failed = 44
    round_answered = 45  # who asked takes the answer

    task_starting = 50  # `set`: the one that the instance starts from
    task_checked = 51  # before the producer is opened: status 200 if a count stands after the latest set, else 409
    producer_opened = 52
    task_checked_again = 53  # after it: status 409 if there is a set newer than the instance's
    task_running = 54  # polls from now on
    task_abandoned = 55
    task_failed = 56
    task_stopped = 57
    task_left_running = 58  # did not stop in time, and is no longer waited for

    records_sent = 60  # of a transaction, open now
    transaction_committed = 61
    transaction_refused = 62  # the producer learns that it is fenced


SUPPORT = MappingProxyType({"none": 0, "disabled": 1, "preparing": 2, "enabled": 3})

COLUMNS = (
    Column("node", pa.int32(), "worker that acted; -1: somebody outside the cluster"),
    Column("connector", pa.int32(), "connector, numbered from 0"),
    Column("task", pa.int32(), "number of the task within its connector, from 0"),
    Column("instance", pa.int64(), "a task's thread, unique in its history: every start is another one"),
    Column("set", pa.int64(), "set of task configurations: the offset of its commit record in the config topic"),
    Column("count", pa.int32(), "tasks: of a set, of a count record, asked for; ids to fence", "tasks"),
    Column("offset", pa.int64(), "offset in the config topic", "records"),
    Column("member", pa.int32(), "generation of the workers' group", "rebalances"),
    Column("producer_id", pa.int64(), "producer id: one for each transactional id"),
    Column("epoch", pa.int32(), "producer epoch", "bumps"),
    Column("request", pa.int64(), "number of a request for a round, unique in its history"),
    Column("support", pa.int8(), "exactly.once.source.support: 0 not there yet, 1 disabled, 2 preparing, 3 enabled"),
    Column("status", pa.int32(), "HTTP status of an answer; of a check 200 if it passed, 409 if not"),
    # 0, not -1, where it does not apply: -1 is an error code of its own (UNKNOWN_SERVER_ERROR).
    Column("error", pa.int16(), "Kafka error code of an answer; 0 = none", absent=0),
)  # fmt: skip

_PAIR = ("producer_id", "epoch")
_RECORD = ("node", "connector", "task", "set", "count", "offset", *_PAIR)
_ROUND = ("node", "connector", "set", "count", "request", *_PAIR, "status", "error")
_TASK = ("node", "connector", "task", "instance", "set", *_PAIR, "error")
_GROUP = ("node", "member", "offset")
USED_BY = MappingProxyType(
    {
        "worker_started": ("node", "support"),
        "worker_stopped": ("node",),
        "worker_stalled": ("node",),
        "worker_resumed": ("node",),
        "asked": ("node", "connector", "count"),
        "joined": _GROUP,
        "member_expired": _GROUP,
        "assignment_made": _GROUP,
        "assigned": (*_GROUP, "count"),
        "task_assigned": ("node", "connector", "task", "member"),
        "task_revoked": ("node", "connector", "task", "member"),
        "topic_claimed": ("node", *_PAIR),
        "claim_failed": ("node", *_PAIR, "error"),
        "leadership_lost": ("node", *_PAIR, "error"),
        "connector_written": _RECORD,
        "connector_tombstoned": _RECORD,
        "task_config_written": _RECORD,
        "set_written": _RECORD,
        "count_written": _RECORD,
        "count_tombstoned": _RECORD,
        "write_refused": ("node", "connector", "error"),
        "topic_read": ("node", "offset"),
        "compacted": ("offset",),
        "round_asked": (*_ROUND, "task"),
        "round_started": _ROUND,
        "id_fenced": (*_ROUND, "task"),
        "round_checked": _ROUND,
        "round_failed": _ROUND,
        "round_answered": (*_ROUND, "task"),
        "task_starting": _TASK,
        "task_checked": (*_TASK, "status"),
        "producer_opened": _TASK,
        "task_checked_again": (*_TASK, "status"),
        "task_running": _TASK,
        "task_abandoned": _TASK,
        "task_failed": _TASK,
        "task_stopped": _TASK,
        "task_left_running": _TASK,
        "records_sent": _TASK,
        "transaction_committed": _TASK,
        "transaction_refused": _TASK,
    }
)

TASK_COUNTS = Vocabulary("task-counts", Kind, COLUMNS, USED_BY)
