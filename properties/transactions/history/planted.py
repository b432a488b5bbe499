"""The story of transactions whose histories are bent at known places: each property has a plant of its own.

Histories are in mode v2; `transaction_plants` is the table of what is edited, and what must be found.
"""

from fencepost.properties.history.planting import Bed, Planting
from fencepost.properties.transactions.history.events import ABORT, COMMIT
from fencepost.properties.transactions.history.plants import PLANTS
from fencepost.properties.transactions.history.story import Story


def example() -> Story:
    """Four instances in turn: commits, an abort, a duplicate, a fence amid a transaction, an end left untold."""
    story = Story("v2")
    story.init(1)
    for outcome in (COMMIT, ABORT, COMMIT):
        story.begin(1)
        for partition in (0, 1, 0, story.offsets_partition):
            story.send(1, partition)
        story.end(1, outcome)
        read_all(story)
    story.begin(1)
    story.send(1, 0)
    story.spare()
    story.init(2)
    story.spare(4)
    story.begin(2)
    story.repeat(story.send(2, 1))
    story.send(2, 0)
    story.end(2, COMMIT, told=False)
    read_all(story)
    story.fence(3)
    story.init(4)
    for _ in range(2):
        story.begin(4)
        for partition in (0, 1, story.offsets_partition):
            story.send(4, partition)
        story.end(4, COMMIT)
    read_all(story)
    story.see(1001, 0)
    story.spare(4)
    return story


def read_all(story: Story) -> None:
    """A reader reads both data partitions to the end, and fetches the group's offset."""
    story.read(1000, 0)
    story.read(1000, 1)
    story.fetch_offset(1000)


PLANTING = Planting(example, PLANTS)
planted = PLANTING.planted
simulate_many = PLANTING.simulate_many
BED = Bed(planted, tuple(PLANTS), {"mode": "v2"})
