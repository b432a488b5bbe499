"""Deletion and creation of connectors in the catalogue: what keeps the count, and what loses it."""

from collections.abc import Mapping

from fencepost.model.releases import MISTAKE, TEXT
from fencepost.properties.entries import Claim, Profile, ProtocolEntry, Scenario, Variant
from fencepost.properties.task_counts.claims.deletion import (
    DeletionProperties,
    LateFencesProperties,
    TombstoneAfterFencingProperties,
)
from fencepost.properties.task_counts.variants.releases import SHIPPED

_SMALL = dict(instances=2, tasks=2, sets=2, restarts=1)
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {
    "smoke": _SMALL,
    "ci": dict(_SMALL, sets=3),
    "nightly": dict(_SMALL, instances=3, sets=3),
}
_QUIET: Mapping[Profile, Mapping[str, int]] = {"smoke": dict(_SMALL, restarts=0)}
_DEPTH: Mapping[Profile, int] = {"smoke": 0, "ci": 10, "nightly": 13}
_UNCHECKED: Mapping[Profile, int] = {"smoke": 0, "ci": 8, "nightly": 12}
_LOST = {"no_zombie": "violated", "covered": "violated"}
_ASIDE = ("counted_in_the_end", "a_former_life_is_shut_out", "a_deleted_one_can_commit")
_WAITS = (dict(instances=1, tasks=1, sets=2, restarts=1),)


DELETION = ProtocolEntry(
    "task-count-deletion",
    "A connector that is deleted and created again: its former tasks are still counted, and fenced.",
    (
        Variant(
            "deletion",
            DeletionProperties,
            "a deletion leaves the count record alone",
            bounds=_BOUNDS,
            depth=_DEPTH,
            progress_bounds=_WAITS,
            of=SHIPPED,
        ),
        Variant(
            "deletion-late-fences",
            LateFencesProperties,
            "the same, and requests to fence come late, or twice",
            bounds=_BOUNDS,
            leaves_out=("counted_in_the_end",),
            depth={"smoke": 0, "ci": 0, "nightly": 0},
            judged=(),
            of=SHIPPED,
        ),
        Variant(
            "tombstone-after-fencing",
            TombstoneAfterFencingProperties,
            "a deletion fences, then removes the count, and a task that starts looks whether its connector is there",
            bounds=_BOUNDS,
            leaves_out=("counted_in_the_end",),
            depth=_UNCHECKED,
            judged=(),
            of=TEXT,
        ),
        Variant(
            "tombstone-after-fencing-as-written",
            TombstoneAfterFencingProperties,
            "the same, and a task that starts looks for a newer set only",
            "618.38",
            ("618.38", "whether_it_exists_or_not"),
            _LOST,
            _QUIET,
            (*_ASIDE, "fenced_for_nothing"),
            depth=_UNCHECKED,
            of=TEXT,
        ),
        Variant(
            "tombstone-without-fencing",
            DeletionProperties,
            "a deletion removes the count record and fences nobody",
            "618.38",
            ("618.38", "tombstone"),
            _LOST,
            _QUIET,
            _ASIDE,
            depth=_UNCHECKED,
            of=TEXT,
        ),
        Variant(
            "deletion-clears-memory",
            DeletionProperties,
            "the leader forgets the count of a deleted connector, and the record stays (KAFKA-14147, first patch)",
            "618.38",
            ("618.38", "memory_cleared"),
            _LOST,
            _QUIET,
            _ASIDE,
            depth=_UNCHECKED,
            of=MISTAKE,
        ),
        Variant(
            "deletion-clears-generation",
            DeletionProperties,
            "workers count the sets of a connector that is created again from 1",
            "618.38",
            ("618.19", "counted_from_1_again"),
            _LOST,
            _QUIET,
            _ASIDE,
            depth=_UNCHECKED,
            of=MISTAKE,
        ),
    ),
    {
        "instances": "a task of the former life and one of the present; a third is like one of them",
        "tasks": "two, since a single task is shut out by its successor, and hides what was not fenced",
        "sets": "one before the deletion and one after it; the third is counted by what the second left",
        "restarts": "one: the leader reads the topic again, where its memory and the record have to agree",
    },
    claims=(
        Claim(
            "618.38",
            "tombstone-after-fencing",
            ("no_zombie", "covered", "nothing_saved"),
            ("fenced_for_nothing",),
            "fencing on deletion is safe, if tasks that start see the deletion, and spares no fencing later",
        ),
    ),
    scenarios=(
        Scenario(
            "B34",
            "KAFKA-14147: the count of a deleted connector is forgotten, and a task of its former life goes on",
            "deletion-clears-memory",
            "deletion",
            script="fencepost.reference_impl.task_counts.scenarios:scenario",
        ),
    ),
)
