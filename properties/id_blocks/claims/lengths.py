"""The properties of blocks that differ in length: those of blocks that do not, and lemmas about lengths."""

from fencepost.model.id_blocks.brokers import Broker, Request, Stage
from fencepost.model.id_blocks.lengths import Lengths, Malformed
from fencepost.model.language import exists, forall, implies, lemma, witness
from fencepost.properties.id_blocks.claims.controllers import ControllerProperties
from fencepost.properties.id_blocks.claims.promises import Promises


class LengthsProperties(ControllerProperties, of=Lengths):
    """The book is the committed log."""

    def book(s):
        return s.committed

    def none_left(s):
        return s.ids < s.next + s.size

    @lemma
    def no_block_is_empty(s):
        """A block recorded, answered or fetched ahead has an id."""
        return forall(
            Request,
            lambda r: implies((s.stage[r] == Stage.RECORDED) | (s.stage[r] == Stage.ANSWERED), 0 < s.length_of[r]),
        ) & forall(Broker, lambda b: implies(s.ready[b], 0 < s.ready_length_of[b]))

    @lemma
    def recorded_is_logged(s):
        """A recorded block is in the log, which ends with it or after it."""
        return forall(Request, lambda r: implies(s.stage[r] == Stage.RECORDED, s.block_end(r) <= s.logged))

    @witness(of="no_id_twice")
    def lengths_differ(s):
        """A broker uses a block, and another one is ready that is shorter than it was."""
        return exists(
            Broker, Broker,
            lambda b, c: s.ready[b] & (s.ready_length_of[b] < s.size) & (s.cursor[c] + s.ready_length_of[b] < s.end[c]),
        )  # fmt: skip


class MalformedProperties(Promises, of=Malformed):
    """The promises, with a controller at fault."""
