"""Reading source offsets to the end (618.32): the reading as it is, what is taken for it, and what goes wrong then."""

from collections.abc import Mapping
from typing import Any

from fencepost.model.releases import ENABLED, MISTAKE, UNVERIFIED, Kafka, Of
from fencepost.properties.entries import Names, Scenario, Variant
from fencepost.properties.source_offsets.claims.reading import HangingPromises, ReadingLemmas, SnapshotPromises

SMALL = dict(writers=2, log=4, entries=2, restarts=0, retries=0)
BASE = dict(SMALL, log=6, entries=3)
FEATURES: Mapping[str, Mapping[str, int]] = {
    "a reading that begins anew": dict(log=2, entries=1, restarts=1, retries=1),
}
REASONS: Mapping[str, str] = {
    "writers": "a predecessor, and another task that has the partition too",
    "log": "each entry, and a marker for each",
    "entries": "two of one transaction, and one of another producer's between them or behind them",
    "restarts": "a task that is gone while it reads, and the one after it",
    "retries": "an end that is asked for once more",
    "late": "an entry that comes when its transaction is over",
}
DEPTH: Mapping[Any, int] = dict.fromkeys(("smoke", "ci", "nightly"), 0)


def wrong(
    name: str,
    properties: Any,
    says: str,
    rule: str,
    bounds: Mapping[str, int],
    *breaks: str,
    of: Of = MISTAKE,
    **more: Any,
) -> Variant:
    """A mistake, of which nothing is asked but what it breaks, and what ``asks`` says that it keeps."""
    asked = more.get("asks", ())
    others = Names(
        lambda: (n for n, p in properties.properties.items() if n not in (*breaks, *asked) and p.of not in asked)
    )
    return Variant(
        name, properties, says, rule, expected=dict.fromkeys(breaks, "violated"), bounds={"smoke": bounds},
        leaves_out=others, depth=DEPTH, of=of, **more,
    )  # fmt: skip


BEGINS, BEFORE, ONLY = "begins_with_all", "all_before_the_end", "nothing_uncommitted"

VARIANTS = (
    Variant(
        "reading", ReadingLemmas,
        "a task reads its source offsets to an end that it asked for with read_uncommitted, and consumes with "
        "read_committed: as if it read all at once, after the fence",
        bounds={"smoke": SMALL, "ci": BASE}, features=FEATURES, progress_bounds=(SMALL,), depth=DEPTH,
        of=Kafka(settings=ENABLED),
    ),
    wrong("up-to-the-last-stable", ReadingLemmas,
          "the end is asked with read_committed, and is before all that is behind another task's open transaction",
          "618.32", SMALL, BEGINS, BEFORE, reading=("618.32", "up_to_the_last_stable")),
    wrong("read-uncommitted", ReadingLemmas, "what is consumed has entries that are aborted", "618.32", SMALL, BEGINS,
          ONLY, reading=("618.32", "read_uncommitted")),
    wrong("read-gives-up", ReadingLemmas, "a task that has waited for too long begins with what it has read", "618.32",
          SMALL, BEGINS, BEFORE, reading=("618.32", "finish: guard 1 dropped")),
    wrong("asked-before-the-fence", ReadingLemmas,
          "the end is asked when a predecessor can commit yet, and something of it comes behind that", "618.18", SMALL,
          BEGINS, reading=("618.18", "before_the_fence")),
    wrong("read-as-a-snapshot", SnapshotPromises,
          "what was read of other tasks is taken for the topic at one moment: it may be half of a transaction",
          "618.32", SMALL, "whole_transactions"),
    wrong("a-transaction-hangs", HangingPromises,
          "another task's transaction is never decided, and no task that shares the partition begins", "618.32",
          dict(SMALL, log=5, late=1), "reads_to_the_end", progress_bounds=(dict(SMALL, log=5, late=1),),
          of=Kafka(settings=ENABLED | UNVERIFIED)),
)  # fmt: skip

SCENARIOS = (
    Scenario("last-stable-offset", "source offsets behind another task's open transaction are not read",
             "up-to-the-last-stable", "reading"),
    Scenario("hanging-transaction", "a transaction that hangs keeps tasks from beginning (KAFKA-14402)",
             "a-transaction-hangs", "reading"),
)  # fmt: skip
