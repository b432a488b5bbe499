"""Bugs that Apache Kafka had, by their public numbers, in the implementation: with the bug a promise fails, mended it
holds.  In the model: tests/proofs/test_bugs_in_models.py."""

import pytest
from block_bench import fetch_block
from fencepost.properties.id_blocks.scenarios import KNOWN_BUGS
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from fencepost.reference_impl.defects.id_blocks import AdvancedOneTooLittle, OverlapByOneAccepted
from fencepost.reference_impl.kafka.producer_ids.broker import ProducerIds
from fencepost.reference_impl.systems.id_blocks import Parts, build

SCENARIOS = {known.name: known for known in ID_BLOCKS.scenarios}


def test_the_known_bugs() -> None:
    """The three of producer id blocks that broke a promise, or would have if another had not held."""
    assert list(SCENARIOS) == ["KAFKA-15552", "KAFKA-20031", "KAFKA-14694"]


def test_which_the_implementation_shows() -> None:
    """Those that are played by calls, and one that takes a controller that is wrong as well."""
    assert {known.name for known in SCENARIOS.values() if known.played} == {*SCENARIOS} & {*KNOWN_BUGS, "KAFKA-20031"}


@pytest.mark.parametrize(("broker", "twice"), [(OverlapByOneAccepted, True), (ProducerIds, False)])
def test_an_overlap_by_one(broker: type[ProducerIds], twice: bool) -> None:
    """KAFKA-20031: the start of a new block was compared with `<`, so that one equal to the last id passed.  Of a
    controller that counts one id too few, and answers [9, 18] after [0, 9], a broker that is right refuses that."""
    system = build({"block_size": 10, "max_id": 1000, "prefetch": 0}, Parts(broker, AdvancedOneTooLittle))
    ids = []
    for _ in range(2):
        fetch_block(system, 0)
        answers = [system.init_producer_id(0) for _ in range(10)]
        ids += [producer_id for error, producer_id in answers if not error]
    assert (len(set(ids)) < len(ids)) == twice
