"""What can be wrong with records that are tracked: what is committable, and what an acknowledgement is."""

from collections import deque

from fencepost.reference_impl.source_commits.connector import SourceRecord
from fencepost.reference_impl.source_commits.events import Kind
from fencepost.reference_impl.source_commits.kafka import Request
from fencepost.reference_impl.source_commits.runtime.submitted_records import (
    CommittableOffsets,
    SubmittedRecord,
    SubmittedRecords,
)
from fencepost.reference_impl.source_commits.runtime.task import WorkerSourceTask


class NewestAcknowledged(SubmittedRecords):
    """The newest acknowledged record is committable, whatever is in flight before it."""

    def committable_offsets(self) -> CommittableOffsets:
        newest = {p: [r.offset for r in queue if r.acked] for p, queue in self.queues.items()}
        found = super().committable_offsets()
        return found._replace(offsets={**found.offsets, **{p: acked[-1] for p, acked in newest.items() if acked}})


class OneQueue(SubmittedRecords):
    """All source partitions share a queue, of which the last acknowledged head's offset is all that is said."""

    __slots__ = ("all",)

    def __init__(self) -> None:
        super().__init__()
        self.all: deque[SubmittedRecord] = deque()

    def submit(self, partition: int, offset: int) -> SubmittedRecord:
        record = super().submit(partition, offset)
        self.all.append(record)
        return record

    def remove_last_occurrence(self, record: SubmittedRecord) -> bool:
        self.all.remove(record)
        return super().remove_last_occurrence(record)

    def committable_offsets(self) -> CommittableOffsets:
        offsets, taken = {}, 0
        while self.all and self.all[0].acked:
            head = self.all.popleft()
            self.queues[head.partition].popleft()
            offsets, taken = {head.partition: head.offset}, taken + 1
        return CommittableOffsets(offsets, taken, len(self.all))


class HeadsLeft(SubmittedRecords):
    """Acknowledged heads are looked at and left where they are."""

    def committable_offsets(self) -> CommittableOffsets:
        offsets: dict[int, int] = {}
        for partition, queue in self.queues.items():
            for record in queue:
                if not record.acked:
                    break
                offsets[partition] = record.offset
        return CommittableOffsets(offsets, len(offsets))


class DropAcknowledges(SubmittedRecords):
    """A record that the producer has refused for now counts as acknowledged."""

    def remove_last_occurrence(self, record: SubmittedRecord) -> bool:
        record.ack()
        return True


class TwiceCounted(SubmittedRecords):
    """A record that is acknowledged twice counts as two."""

    def submit(self, partition: int, offset: int) -> SubmittedRecord:
        record = super().submit(partition, offset)
        record.__class__ = Uncounted
        return record

    def all_acked(self) -> bool:
        return self.unacked <= 0


class Uncounted(SubmittedRecord):
    """It does not know that it was acknowledged before."""

    __slots__ = ()

    def ack(self) -> None:
        self.acked = True
        self.records.message_acked()


class AcknowledgesTwice(WorkerSourceTask):
    """The callback acknowledges each record twice."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        tracked = self.in_flight[request.number][1]
        super().record_done(request, ok, position)
        if tracked.acked:
            tracked.ack()


class ToldTwice(WorkerSourceTask):
    """commitRecord is called twice for every fourth record."""

    def record_done(self, request: Request, ok: bool, position: int) -> None:
        super().record_done(request, ok, position)
        if ok and request.record % 4 == 0:
            self.env.emit(
                Kind.ACKNOWLEDGED, instance=self.number, partition=request.partition, record=request.record,
                offset=request.offset, output=request.lane, position=position,
            )  # fmt: skip


class FailureIsMetadata(WorkerSourceTask):
    """commitRecord has metadata although the record was given up."""

    def give_up(self, record: SourceRecord) -> None:
        self.show(Kind.ACKNOWLEDGED, record)
        self.connector.commit_record(record)
