"""The story of source connectors whose histories are bent at known places: each property has a plant of its own.

Histories are in mode B; `task_count_plants` is the table of what is edited, and what must be found.
"""

from fencepost.properties.history.planting import Bed, Planting
from fencepost.properties.task_counts.history.plants import PLANTS
from fencepost.properties.task_counts.history.story import TaskCountStory


def example() -> TaskCountStory:
    """Two tasks become one and two again, a worker stands still, another leads, a connector goes and comes back."""
    story = TaskCountStory(workers=3)
    story.lead(0)
    story.configure(0, tasks=2)
    first = story.run(1, 0, 0)
    stalled = story.run(2, 0, 1)
    story.commit(first)
    story.commit(stalled)
    story.configure(1, tasks=1)
    alone = story.run(1, 1, 0)
    story.commit(alone)
    story.spare(4)
    story.configure(0, tasks=1)  # two tasks become one: both ids are fenced
    story.stop(first)
    story.commit(stalled)  # it may: the count of before still covers it
    second = story.run(1, 0, 0)
    story.commit(second)
    story.refuse(stalled)
    story.lead(1)
    story.spare(4)
    story.configure(1, tasks=1)  # one task stays one: nothing is fenced
    story.stop(alone)
    alone = story.run(0, 1, 0)
    story.commit(alone)
    story.delete(1)
    story.stop(alone)
    story.configure(1, tasks=2)
    story.commit(story.run(0, 1, 0))
    story.commit(story.run(1, 1, 1))
    story.configure(0, tasks=2)
    story.stop(second)
    story.commit(story.run(0, 0, 0))
    story.commit(story.run(1, 0, 1))
    story.rebalance()
    story.spare(4)
    return story


PLANTING = Planting(example, PLANTS)
planted = PLANTING.planted
simulate_many = PLANTING.simulate_many
BED = Bed(planted, tuple(PLANTS), {"mode": "B"})
