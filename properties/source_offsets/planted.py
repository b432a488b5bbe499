"""What can be wrong in a history of source tasks that the reference wrote, and what each property must then report.

The smallest edits were looked for that one property alone reports; where one thing breaks several, the others are named
too. Instance 0 of task 0 has source partition 0 and producer id 0; a second set of tasks takes its place.
"""

from fencepost.properties.planting.beds import Bed
from fencepost.properties.planting.bends import END, Plant, change, drop, move, put, swap
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS, Kind

_FIRST = {"task": 0, "instance": 0}
_LAST = {"task": 0, "instance": 7}
_PRODUCER = {"producer_id": 0, "epoch": 4}
_PLACE = {"partition": 0, "round": 0}

PLANTS = {
    "written twice": Plant(
        (put(END, Kind.output_read, position=99, offset=12, **_PLACE),), {"nothing_twice": 1},
    ),
    "the second before the first": Plant(
        (swap((Kind.output_read, 0), (Kind.output_read, 1)),), {"in_order": 1, "nothing_skipped": 1},
    ),
    "a record left out": Plant(
        (drop(Kind.output_read, 1),), {"nothing_skipped": 1, "nothing_lost": 1},
    ),
    "polled and never written": Plant(
        (put(END, Kind.polled, offset=13, **_PLACE, **_LAST),), {"nothing_lost": 1},
    ),
    "a record never polled": Plant(
        (put(END, Kind.polled, offset=14, **_PLACE, **_LAST), put(END, Kind.filtered, offset=14, **_PLACE, **_LAST)),
        {"nothing_passed_over": 1},
    ),
    "resumes before what is written": Plant((change(Kind.audited, 0, offset=3),), {"resume_not_behind": 1}),
    "resumes behind what is not": Plant((change(Kind.audited, 1, offset=9),), {"resume_not_ahead": 1}),
    "the last not done": Plant((change(Kind.audited, 2, offset=0, round=1),), {"everything_copied": 1}),
    "no offset": Plant((drop(Kind.offset_sent, 0),), {"offsets_with_records": 2}),
    "an abort that is none": Plant(
        (put((Kind.txn_begun, 0), Kind.boundary_asked, outcome=0, **_FIRST),), {"aborted_as_asked": 1},
    ),
    "not called": Plant((drop(Kind.commit_called, 0),), {"commit_is_called": 1}),
    "an end that is none": Plant((change(Kind.end_asked, 2, position=6),), {"end_is_the_end": 1}),
    "not to the end": Plant((change(Kind.end_reached, 1, position=1),), {"read_to_the_end": 1}),
    "asked too early": Plant((move((Kind.end_asked, 0), (Kind.producer_opened, 0)),), {"asked_when_fenced": 1}),
    "checked too early": Plant(
        (move((Kind.instance_checked, 0), (Kind.producer_opened, 0)),), {"checked_when_opened": 1},
    ),
    "an older set goes on": Plant(
        (put(END, Kind.instance_checked, outcome=1, **_FIRST),), {"checked_against_newest": 1},
    ),
    "an older set commits": Plant(
        (put(END, Kind.end_told, producer_id=0, epoch=0, outcome=1, **_FIRST),), {"no_older_set_commits": 1},
    ),
    "a tombstone in one topic": Plant(
        (put(END, Kind.offset_sent, topic=1, partition=0, offset=0, **_LAST, **_PRODUCER),),
        {"tombstones_beside_first": 1},
    ),
    "copied too early": Plant((move((Kind.copy_sent, 0), (Kind.end_told, 4)),), {"copied_when_committed": 1}),
    "filled unseen": Plant((put(END, Kind.migrated, owner=0, partition=0, offset=1),), {"fills_what_is_empty": 1}),
}  # fmt: skip

EXAMPLE = "fencepost.reference_impl.source_offsets.everything:rows"
BED = Bed(SOURCE_OFFSETS, EXAMPLE, PLANTS, {"mode": "text-merged-view", "records": 12, "quiet_end": True})
simulate_many = BED.simulate_many
