"""Idempotent producers that send again, under another number, what may have been written."""

from collections.abc import Iterable

from fencepost.reference_impl.transactions.clients.client_errors import Verdict
from fencepost.reference_impl.transactions.clients.idempotent import IdempotentProducer, IdempotentSends
from fencepost.reference_impl.transactions.clients.sends import Lane, SentBatch
from fencepost.reference_impl.transactions.errors import ErrorCode


class Renumbering(IdempotentSends):
    """Not used by itself: raises the epoch at once, and gives what is in flight new numbers in it."""

    def renumber(self, lanes: Iterable[Lane]) -> None:
        """These lanes' records are sent again, from 0."""
        self.sender.epoch += 1
        self.reset_sequences()
        for lane in lanes:
            for batch in lane.in_flight:
                batch.sequence = self.next_sequence(lane)
                self.number_records(lane, batch)
                self.waiting.pop(batch.request, None)
                self.transmit(batch)


class RefusedIsRenumbered(Renumbering):
    """A record out of order, before which none is missing, is taken for never written (KAFKA-14034)."""

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.renumber([self.lanes[batch.partition]])
        else:
            super().failed(batch, verdict, error)


class AllIsRenumbered(Renumbering):
    """A record out of order, before which one is missing, has all partitions' records sent again."""

    def verdict(self, batch: SentBatch, error: int) -> Verdict:
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            return Verdict.ABORTABLE
        return super().verdict(batch, error)

    def failed(self, batch: SentBatch, verdict: Verdict, error: int) -> None:
        if error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.renumber(self.lanes.values())
        else:
            super().failed(batch, verdict, error)


class RenumbersRefused(IdempotentProducer):
    """A producer with `RefusedIsRenumbered`."""

    sends_class = RefusedIsRenumbered


class RenumbersAll(IdempotentProducer):
    """A producer with `AllIsRenumbered`."""

    sends_class = AllIsRenumbered
