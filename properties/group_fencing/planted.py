"""What can be wrong in a history of a consumer group that the reference wrote, and what each property must then report.

The smallest edits were looked for that one property alone reports; where one thing breaks several, the others are named
too. Client 0 has producer id 0 and partition 0, of which client 1, with producer id 1, is the next owner.
"""

from fencepost.properties.group_fencing.events import GROUP_FENCING, Kind
from fencepost.properties.planting.beds import Bed
from fencepost.properties.planting.bends import END, Plant, change, drop, put

_PENDING = {"partition": 0, "offset": 1, "producer_id": 1, "epoch": 0}
_FORMER = {"partition": 0, "offset": 2, "producer_id": 0, "epoch": 1}
_SUCCESSOR_CONSUMED = (Kind.txn_begun, 3)  # before that, client 1 has consumed what client 0 had

PLANTS = {
    "copied twice": Plant(
        (put(END, Kind.output_read, output=0, position=99, partition=0, offset=3),), {"nothing_twice": 1},
    ),
    "a record left out": Plant(
        (drop(Kind.output_read, 9),), {"nothing_skipped": 1},
    ),
    "committed and not copied": Plant(
        (drop(Kind.output_read, 19),), {"offsets_agree": 1},
    ),
    "copied and not committed": Plant(
        (change(Kind.audited, 2, offset=9),), {"offsets_agree": 1, "everything_copied": 1, "last_written_counts": 1},
    ),
    "the last one not done": Plant(
        (change(Kind.audited, 3, offset=9), drop(Kind.output_read, 19)),
        {"everything_copied": 1, "last_written_counts": 1},
    ),
    "ended for nothing": Plant(
        (put(END, Kind.instance_failed, slot=0, client=0, error=-1),), {"no_other_error_ends_it": 1},
    ),
    "an older one counts": Plant(
        (change(Kind.fetch_answered, 10, offset=1),), {"last_written_counts": 1},
    ),
    "two pending at once": Plant(
        (
            put((Kind.offset_settled, 0), Kind.offset_taken, generation=1, member=1, **_PENDING),
            put((Kind.generation_begun, 1), Kind.offset_settled, outcome=0, **_PENDING),
        ),
        {"one_producer_commits": 1},
    ),
    "a former owner commits": Plant(
        (
            put(_SUCCESSOR_CONSUMED, Kind.offset_taken, generation=4, member=0, **_FORMER),
            put(_SUCCESSOR_CONSUMED, Kind.offset_settled, outcome=1, **_FORMER),
        ),
        {"newest_owner_commits": 1},
    ),
    "of the generation before": Plant(
        (change(Kind.offset_taken, 4, generation=3),), {"stale_never_commits": 1},
    ),
    "told before it is settled": Plant(
        (put((Kind.offset_settled, 1), Kind.fetch_answered, partition=0, offset=1, outcome=1),),
        {"fetches_are_stable": 1},
    ),
    "held for nothing": Plant(
        (put(END, Kind.fetch_held, partition=0, error=88),), {"held_while_pending": 1},
    ),
    "initialised too early": Plant(
        (put((Kind.offset_settled, 1), Kind.init_told, slot=1, client=1, txn=0, producer_id=1, epoch=9),),
        {"initialised_when_settled": 1},
    ),
    "fenced by itself": Plant(
        (
            drop(Kind.instance_started, 1),
            put((Kind.init_told, 1), Kind.producer_fenced, producer_id=0, epoch=0),
        ),
        {"lone_client_not_fenced": 1},
    ),
}  # fmt: skip

EXAMPLE = "fencepost.reference_impl.group_fencing.everything:rows"
BED = Bed(GROUP_FENCING, EXAMPLE, PLANTS, {"mode": "shipped", "records": 10, "quiet_end": True})
simulate_many = BED.simulate_many
