"""Differences between the revisions of the document and the code that Kafka ships; all else is common code.

| mode | who asks for a round | when |
|---|---|---|
| A | no worker: the leader fences while it makes the assignment | every rebalance |
| M | the owner of the Connector | its start, and after the rebalance that follows a new set |
| B, shipped | every task | its start |
"""

from dataclasses import dataclass

ASSIGNMENT, CONNECTOR, TASK = "assignment", "connector", "task"


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision. `steps` is the start-up of a task, in order; each is a method of `SourceTask`."""

    mode: str
    rounds_by: str
    steps: tuple[str, ...]
    mismatch_fails: bool = False  # a newer set at the second check fails the task, else it is abandoned (618.20)
    record_per_transaction: bool = True  # 618.25; else one transaction for each call
    cancels: bool = False  # a task that does not stop in time has its producer closed (618.23)
    checks_ownership: bool = False  # the second check also asks whether the task is still assigned here
    leader_always_transactional: bool = False  # whatever the flag says (618.24)
    signs: bool = True  # there is an internal endpoint, and a session key for it (618.10)
    stops_connectors: bool = False  # users may stop a connector, which commits a set of 0 tasks
    states_targets: bool = False  # a connector's target state is written with its configuration


REVISIONS = {
    "A": Revision("A", ASSIGNMENT, ("look", "open_producer", "check_after"), signs=False),
    "M": Revision(
        "M", CONNECTOR, ("await_count", "open_producer", "check_after"), leader_always_transactional=True,
    ),
    "B": Revision(
        "B", TASK, ("ask", "check_before", "create_offsets_topic", "open_producer", "check_after"),
        leader_always_transactional=True,
    ),
    "shipped": Revision(
        "shipped", TASK, ("ask", "open_producer", "check_after", "create_offsets_topic"), mismatch_fails=True,
        record_per_transaction=False, cancels=True, checks_ownership=True, stops_connectors=True, states_targets=True,
    ),
}  # fmt: skip


def uses_transactions(revision: Revision, support: str) -> bool:
    """Whether a leader with this support writes through a transactional producer (618.24)."""
    if support == "none":
        return False
    return support in ("preparing", "enabled") or revision.leader_always_transactional
