"""Histories of id blocks with planted violations, and what each property must then report."""

from collections.abc import Mapping

from fencepost.properties.id_blocks.history.events import ID_BLOCKS, Kind
from fencepost.properties.planting.beds import Bed
from fencepost.properties.planting.bends import Plant, change, swap

SIZE, BLOCKS = 40, 6
LAST = (BLOCKS - 1) * SIZE  # the first id of the last block, which the last broker gets, and hands out as each third id

_COMMIT, _ANSWER, _FIRST_ID = (Kind.block_committed, -1), (Kind.answer_sent, -1), (Kind.id_handed_out, -3 * SIZE + 2)

PLANTS: Mapping[str, Plant] = {
    "id twice": Plant(
        (change(Kind.id_handed_out, _FIRST_ID[1] + 3, producer_id=LAST),), {"ids_unique": 1, "ids_increase": 1},
    ),
    "answer first": Plant((swap(_COMMIT, _ANSWER),), {"answered_after_commit": 1}),
    "commit last": Plant(
        (swap(_COMMIT, _FIRST_ID),), {"answered_after_commit": 1, "handed_out_after_grant": 1},
    ),
    "off by one": Plant(
        (change(Kind.id_handed_out, -1, producer_id=LAST + SIZE),), {"ids_within_blocks": 1},
    ),
    "overlap": Plant(
        (change(*_COMMIT, first=LAST - 1, length=SIZE + 1),), {"blocks_disjoint": 1, "blocks_contiguous": 1},
    ),
    "answer overlaps": Plant(
        (change(*_ANSWER, first=LAST - 1, length=SIZE + 1),), {"answers_disjoint": 1},
    ),
    "empty block": Plant((change(*_COMMIT, length=0),), {"blocks_well_formed": 1, "ids_within_blocks": SIZE}),
}  # fmt: skip

EXAMPLE = "fencepost.reference_impl.id_blocks.everything:rows"
BED = Bed(ID_BLOCKS, EXAMPLE, PLANTS, shifted=("first", "producer_id"))
simulate_many = BED.simulate_many
