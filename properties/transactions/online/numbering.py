"""Pairs of producer id and epoch as the one number that the model has for them.

A producer id has the epochs 0 … last, and one more that only a fence may carry; so the first id has the numbers 1 …
last + 2, and each further id, in the order in which they appear, the next ones.  0 is no pair.
"""


class Numbering:
    """Of one history.  ``last``: the largest epoch that is ever handed out (32766 in Kafka)."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.ranks: dict[int, int] = {}  # of producer ids

    def number(self, producer_id: int, epoch: int) -> int:
        """The pair's number; an id that was not seen before is the next one."""
        if producer_id < 0 or epoch < 0:
            return 0
        return self.base(self.ranks.setdefault(producer_id, len(self.ranks))) + epoch

    def next_base(self, producer_id: int) -> int:
        """The first number of the id after this one."""
        return self.base(self.ranks.get(producer_id, len(self.ranks)) + 1)

    def base(self, rank: int) -> int:
        return 1 + rank * (self.last + 2)

    def rank(self, number: int) -> int:
        """Of the producer id that a number belongs to."""
        return (number - 1) // (self.last + 2)

    def meet(self, producer_id: int, number: int) -> None:
        """An id that appears for the first time where the model has this number: others may have come and gone unseen
        before it."""
        rank = self.rank(number)
        if producer_id >= 0 and producer_id not in self.ranks and number > 0 and rank not in self.ranks.values():
            self.ranks[producer_id] = rank

    def after_prepare(self, number: int, bumps: bool) -> int:
        """The coordinator's number when a Prepare record with this one is in the log: the next id's first, where the
        epochs of this one are used up (v2, ``bumps``)."""
        return number + int(bumps and (number - 1) % (self.last + 2) == self.last + 1)
