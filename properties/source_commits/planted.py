"""What can be wrong in a history of a source task that the reference wrote, and what each property must then report.

The smallest edits were looked for that one property alone reports; where one thing breaks several, the others are named
too. Instance 0 has done with the first nine records of both source partitions, and stored and told of that; instances 1
and 2 have committed nothing; instance 3 has stored and told of the eleventh, and then of the
twelfth.
"""

from fencepost.properties.planting.beds import Bed
from fencepost.properties.planting.bends import END, Plant, change, drop, move, put
from fencepost.properties.source_commits.events import SOURCE_COMMITS, Kind

_LAST = {"instance": 3, "partition": 0}

PLANTS = {
    "told of another's offset": Plant(
        (put(END, Kind.told_offset, offset=12, thread=1, partition=0, instance=2),), {"told_is_durable": 1},
    ),
    "told before it is stored": Plant(
        (put((Kind.offset_written, 5), Kind.told_offset, offset=11, thread=1, **_LAST),),
        {"told_is_durable": 1, "told_is_where_it_resumes": 1},
    ),
    "told of the past": Plant(
        (put(END, Kind.told_offset, instance=0, thread=1, partition=0, offset=6),), {"told_in_order": 1},
    ),
    "stored of the past": Plant(
        (put(END, Kind.offset_written, flush=4, offset=9, position=9, **_LAST),), {"stored_in_order": 1},
    ),
    "resumes before what was told": Plant(
        (change(Kind.resumed, 2, offset=6), change(Kind.discarded, 0, offset=6)),
        {"resumes_from_what_was_told": 1, "nothing_skipped": 1},
    ),
    "forgotten before it is stored": Plant(
        (put((Kind.offset_written, 5), Kind.discarded, offset=10, **_LAST),), {"upstream_not_ahead": 1},
    ),
    "resumes with what is forgotten": Plant(
        (
            put((Kind.resumed, 2), Kind.discarded, instance=0, partition=0, offset=10),
        ),
        {"upstream_not_ahead": 1, "upstream_has_what_is_resumed": 3},
    ),
    "a record passed over": Plant((drop(Kind.polled, 32),), {"nothing_skipped": 1}),
    "stored without a record": Plant(
        (drop(Kind.produced, 13),), {"stored_is_done": 3, "acknowledged_is_there": 1, "everything_delivered": 1},
    ),
    "still tracked": Plant((change(Kind.audited, 4, offset=11),), {"everything_stored": 1}),
    "left over at the end": Plant(
        (put((Kind.told, 2), Kind.committable, instance=0, partition=0, offset=10),), {"orderly_end_covers_all": 1},
    ),
    "polled and not delivered": Plant(
        (put(END, Kind.polled, record=13, offset=13, **_LAST),), {"everything_delivered": 1},
    ),
    "started and not begun": Plant((put(END, Kind.instance_started, instance=4),), {"begins_in_the_end": 1}),
    "acknowledged again": Plant(
        (put((Kind.stopping, 0), Kind.acknowledged, instance=0, partition=0, record=8, offset=8, output=0),),
        {"acknowledged_once": 1},
    ),
    "acknowledged and not there": Plant(
        (change(Kind.acknowledged, 15, record=13),), {"acknowledged_is_there": 1},
    ),
    "committable before another": Plant(
        (move((Kind.committable, 8), (Kind.acknowledged, 19)),), {"committable_is_acknowledged": 1},
    ),
    "committable again": Plant(
        (put(END, Kind.committable, offset=12, **_LAST),), {"committable_once": 1},
    ),
    "told of a flush that failed": Plant(
        (put((Kind.produced, 3), Kind.told, instance=0, thread=1, entries=2),), {"told_after_its_flush": 1},
    ),
    "a map that lacks something": Plant((change(Kind.told, 4, entries=1),), {"map_is_what_was_flushed": 1}),
    "fails for nothing": Plant((change(Kind.stopping, 1, outcome=0),), {"fails_for_a_reason": 1}),
    "not written again": Plant((drop(Kind.flush_entry, 3),), {"failed_flush_comes_back": 1}),
    "does not wait": Plant((drop(Kind.drained, 1),), {"final_commit_waits": 1}),
    "a time-out for a success": Plant((change(Kind.drained, 1, outcome=1),), {"time_out_is_no_success": 4}),
}  # fmt: skip

EXAMPLE = "fencepost.reference_impl.source_commits.everything:rows"
BED = Bed(SOURCE_COMMITS, EXAMPLE, PLANTS, {"mode": "proposed", "quiet_end": True}, shifted=())
simulate_many = BED.simulate_many
