"""Implementations that break one rule of the admin's interface each: what fencing an id answers, and what it leaves.

No promise needs these rules, so that neither histories nor a driver need find such a defect: tests that are marked with
the rule do.  Each is reachable as `fencepost.reference_impl.defects.transactions_interface:<name>`.
"""

from fencepost.reference_impl.kafka.clients.admin import Admin, Fenced, FenceProducersResult
from fencepost.reference_impl.kafka.clients.sends import CoordinatorCall, Question
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.messages import InitProducerIdRequest
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.simulation.defects import (
    NOTHING,
    defect,
    registry,
)
from fencepost.reference_impl.systems.transactions import Parts, build


class AllByTheLast(FenceProducersResult):
    """The whole is what the last answer was."""

    def all(self) -> int | None:
        results = list(self.fenced_producers().values())
        return None if results[-1] is None else results[-1].error


@defect("618.13", NOTHING)
class WholeByTheLast(Admin):
    """`all` says what became of the last id."""

    result = AllByTheLast


@defect("618.13", NOTHING)
class PairsForgotten(Admin):
    """An id's result is an error code and no more."""

    def question(self, transactional_id: int, call: CoordinatorCall, result: FenceProducersResult) -> Question:
        settle = result.settle

        def without_pair(transactional_id: int, fenced: Fenced) -> None:
            settle(transactional_id, Fenced(fenced.error, -1, -1))

        result.settle = without_pair  # type: ignore[method-assign]
        return super().question(transactional_id, call, result)


@defect("txn.22", NOTHING)
class UnknownIdsRefused(Coordinator):
    """An id that no producer ever had is not created."""

    def init_refused(self, request: InitProducerIdRequest) -> int:
        known = request.transactional_id in self.transactions
        return super().init_refused(request) or (0 if known else ErrorCode.INVALID_PRODUCER_ID_MAPPING)


REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
