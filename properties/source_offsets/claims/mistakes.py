"""The promises, asked where a condition of the merged view is not kept."""

from fencepost.model.source_offsets.mistakes import LateCopies, NullBeforeAny, TopicTaken
from fencepost.properties.source_offsets.claims.promises import Promises


class LateCopiesPromises(Promises, of=LateCopies):
    """Where copies come late."""


class NullBeforeAnyPromises(Promises, of=NullBeforeAny):
    """Where a null offset is the first in the connector's own topic."""


class TopicTakenPromises(Promises, of=TopicTaken):
    """Where the connector's own topic is not read any more."""
