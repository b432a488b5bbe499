"""Variants that TLC searches as well as the explorer, by protocol and within which bounds."""

from collections.abc import Mapping


def named(by_protocol: Mapping[str, str]) -> list[str]:
    return [f"{protocol}/{name}" for protocol, names in by_protocol.items() for name in names.split()]


AS_THEY_ARE = named({
    "id-blocks": "zookeeper",
    "transactions": "core-v1-prompt-fated v2-trunk v2-mended",
    "idempotence": "idempotent same-epoch new-epoch forgetful-one-under-way answered-again answered-again-new-epoch",
    "transactional-offsets": "group-memory",
    "task-counts": "B A",
    "group-fencing": "shipped shipped-cooperative draft-repaired-by-generation upgrade-in-two-steps",
    "source-commits": "null-offsets-left-out proposed-exactly-once",
    "source-offsets": "text-merged-view both-mends reading merged-at-the-start downgrade-and-back",
    "end-to-end": "abstract-over-core-v2 kraft-hands-out group-delivers sources-resume",
})  # fmt: skip
"""Variants in which nothing fails, small enough within the smoke bounds."""

SMALLER = {
    "id-blocks/bridge": {"brokers": 1, "ids": 2},
    "id-blocks/kraft": {"requests": 1, "brokers": 1},
    "id-blocks/kraft-lengths": {"requests": 1},
    "transactions/core-v2": {"epochs": 2},
    "transactions/core-v1-verified": {"transactions": 1},
    "transactions/core-v1-prompt": {"clients": 1},
    "transactions/core-v1-verified-prompt": {"transactions": 1},
    "transactions/core-v2-overlapping": {"transactions": 1},
    "transactions/core-v2-timed-out": {"transactions": 1},
    "transactions/core-v2-fated": {"fences": 0},
    "transactions/core-v2-overlapping-fated": {"clients": 1},
    "transactions/core-v2-timed-out-fated": {"fail_overs": 0},
    "transactions/core-versions": {"epochs": 2},
    "transactions/v2": {"clients": 1},
    "transactions/v1-prompt": {"clients": 1},
    "transactions/v1-verified-prompt": {"clients": 1},
    "idempotence/forgetful-giving-up": {"epochs": 1},
    "idempotence/forgetful-new-epoch": {"most": 1},
    "read-committed/read-committed": {"producers": 1, "fail_overs": 0},
    "read-committed/cleaned": {"log": 2},
    "transactional-offsets/transactional-offsets": {"fail_overs": 0},
    "transactional-offsets/offsets-deleted": {"records": 2},
    "transaction-log/transaction-log": {"failures": 0},
    "transaction-log/metadata": {"failed_appends": 0},
    "transaction-partitions/parked-v2": {"transactions": 1},
    "transaction-partitions/parked-v1-verified": {"transactions": 1},
    "transaction-partitions/parked-v1-verified-prompt": {"transactions": 1},
    "transaction-partitions/several-v2": {"transactions": 1},
    "transaction-partitions/several-v1-verified": {"transactions": 1},
    "transaction-partitions/log-covered": {"tails": 0},
    "task-counts/core-A": {"generations": 2},
    "task-counts/core-M": {"generations": 2},
    "task-counts/core-B": {"generations": 2},
    "task-counts/core-shipped": {"generations": 2},
    "task-counts/grain": {"log": 2},
    "task-counts/shipped": {"duplicates": 0},
    "task-counts/M": {"log": 3},
    "task-counts/shipped-eager": {"workers": 1},
    "task-counts/shipped-cooperative": {"workers": 1},
    "config-topic-writes/record-by-record": {"calls": 2},
    "task-count-deletion/deletion": {"restarts": 0},
    "task-count-deletion/deletion-late-fences": {"tasks": 1},
    "task-count-deletion/tombstone-after-fencing": {"tasks": 1},
    "task-count-connectors/connectors": {"sets": 1},
    "task-count-connectors/names-may-collide": {"collisions": 0},
    "exactly-once-upgrade/two-rolling-upgrades": {"tasks": 1},
    "exactly-once-upgrade/two-rolling-upgrades-in-steps": {"workers": 1},
    "exactly-once-upgrade/mass-upgrade": {"sets": 1},
    "config-topic/config-topic": {"workers": 1},
    "kip618-yardstick/yardstick": {"tasks": 2, "log": 2},
    "group-fencing/shipped-over-core-v2": {"epochs": 1},
    "group-fencing/shipped-by-requests": {"epochs": 2},
    "group-fencing/draft-repaired-by-assignment": {"fail_overs": 0},
    "group-fencing/new-protocol": {"inputs": 0},
    "group-fencing/new-protocol-relaxed": {"inputs": 0},
    "group-fencing/new-protocol-listener-metadata-at-send": {"inputs": 0},
    "source-commits/proposed": {"threads": 1},
    "source-commits/shipped-mended": {"threads": 1},
    "source-offsets/migration-sentinel": {"stops": 0},
    "end-to-end/abstract": {"tasks": 1, "generations": 1},
    "end-to-end/detailed": {"inputs": 1, "records": 1},
    "end-to-end/producers": {"logs": 1},
    "end-to-end/connect-admits": {"elections": 1},
}
"""Of others, what is changed of the smoke bounds."""

MISTAKEN = named({
    "id-blocks": (
        "kraft-own-length kraft-malformed-taken kraft-answer-first kraft-snapshot-of-block "
        "bridge-from-block-start bridge-from-last-id kraft-idempotent by-broker-id by-broker-id-durable "
        "kraft-faulty-controller-off-by-one kraft-threads-without-test"
    ),
    "transactions": (
        "v1 v1-verified v1-late-marker v1-verified-overlapping v1-overlapping-prompt v1-hanging "
        "v2-fail-over-forgets v2-late-first-request v2-rotation-lost v2-upgraded v2-expiring "
        "v2-expiring-recovered v1-verified-without-recheck v1-verified-any-question v1-time-out-without-bump "
        "v1-marker-of-old-epoch v2-any-open-transaction versions-unchecked versions-one-epoch "
        "v2-epoch-before-pending v2-bumps-past-the-last"
    ),
    "idempotence": "kept-over-abort cleared-by-abort beyond-the-window restarted-and-refused",
    "read-committed": (
        "cleaned-without-horizon cleaned-markers-too-soon cleaned-markers-as-records cleaned-index-too-soon"
    ),
    "transactional-offsets": (
        "offsets-fetched-early offsets-by-completion offsets-left-pending offsets-marker-dropped "
        "group-memory-empty-flush"
    ),
    "transaction-log": "metadata-4.3 metadata-4.2 metadata-4.3-timed-out memory-ahead-of-log",
    "transaction-partitions": "log-uncovered several-v1 several-v1-verified-late dropped-v2",
    "task-counts": "core-shortcut-as-worded core-new-set-is-one core-count-stands-after core-no-check-after",
    "config-topic-writes": "in-effect-at-once commit-record-first",
    "task-count-deletion": (
        "tombstone-after-fencing-as-written tombstone-without-fencing deletion-clears-memory "
        "deletion-clears-generation"
    ),
    "task-count-connectors": "one-write-fails names-collide",
    "exactly-once-upgrade": "one-rolling-upgrade endpoint-with-the-feature polls-before-the-end",
    "config-topic": "slow-reader complete-sets-counted numbers-remembered",
    "kip618-yardstick": "any-writer reclaim",
    "group-fencing": "late-copies unstable-fetch draft",
    "source-commits": "null-offsets last-polled newest-acknowledged",
    "source-offsets": "separate-transactions beside-the-transaction tombstone-primary-first",
    "end-to-end": "read-uncommitted without-offsets offsets-at-once",
})  # fmt: skip
"""Variants in which something fails."""

QUICK = frozenset(named({
    "id-blocks": "zookeeper",
    "transactions": "core-v1-verified v1-marker-of-old-epoch",
    "idempotence": "answered-again",
    "read-committed": "cleaned cleaned-index-too-soon",
    "transactional-offsets": "offsets-deleted",
    "transaction-log": "metadata",
    "transaction-partitions": "parked-v1-verified",
    "task-counts": "core-M",
    "config-topic-writes": "record-by-record",
    "task-count-deletion": "deletion-late-fences tombstone-without-fencing",
    "task-count-connectors": "names-may-collide names-collide",
    "exactly-once-upgrade": "mass-upgrade",
    "config-topic": "config-topic",
    "kip618-yardstick": "yardstick",
    "group-fencing": "shipped draft",
    "source-commits": "null-offsets-left-out",
    "source-offsets": "downgrade-and-back",
    "end-to-end": "group-delivers offsets-at-once",
}))  # fmt: skip
"""Those that every run tries: of each protocol one that TLC has searched in seconds."""
