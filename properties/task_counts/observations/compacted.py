"""Starts that read what compaction has left of the config topic, of which the cores know nothing."""

from fencepost.properties.agreement import Beyond

COMPACTED = "a start that is behind reads what compaction left, the count of a later set, which the model does not know"


class Compacted:
    """Which sets of a connector were counted, and which was its newest when the topic was compacted.  Sets are numbered
    from 1, in the order of the topic."""

    def __init__(self) -> None:
        self._counted: set[int] = set()
        self._newest = 0
        self._deleted = self._gone = 0  # the newest set of a connector that was deleted; and of one made anew since

    def at(self, newest: int) -> None:
        """The topic is compacted when that set is the newest."""
        self._newest, self._gone = newest, self._deleted

    def delete(self, newest: int) -> None:
        """The connector is deleted, with that set and all before."""
        self._deleted = newest

    def count(self, number: int) -> None:
        """A count is written for that set."""
        self._counted.add(number)

    def hides(self, number: int) -> bool:
        """Could a worker that has read no further than that set get past it with a later one's count?"""
        return number < self._newest and number not in self._counted

    def hides_deletion(self, number: int) -> bool:
        """Can a worker that has read no further than that set take it for the newest?  Where the connector was made
        anew, nothing is left of its deletion, nor of the sets that went with it."""
        return 0 < number < self._gone

    def require(self, number: int) -> None:
        """Raises `Beyond` where it could."""
        if self.hides(number):
            raise Beyond(COMPACTED)
