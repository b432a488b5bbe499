"""Implementations that break one interface rule of KIP-730 each: a format, a code, a throttle, a version.

No promise needs these rules, so that neither histories nor a driver need find such a defect: tests that are marked with
the rule do.  Each is reachable as `fencepost.reference_impl.defects.id_blocks_interface:<name>`.
"""

from dataclasses import replace

from fencepost.reference_impl.kafka.errors import IdErrorCode
from fencepost.reference_impl.kafka.messages import (
    AllocateProducerIdsRequest,
    Block,
    IdRequestBody,
    IdResponseBody,
    ProducerIdsRecord,
)
from fencepost.reference_impl.kafka.producer_ids.broker import ProducerIds
from fencepost.reference_impl.kafka.producer_ids.controller import Controller
from fencepost.reference_impl.kafka.producer_ids.environment import Config, protocol_version
from fencepost.reference_impl.simulation.defects import (
    NOTHING,
    defect,
    registry,
)
from fencepost.reference_impl.systems.id_blocks import Parts, build


@defect("730.5", NOTHING)
class EveryErrorIsFatal(ProducerIds):
    """The broker stops at every error of the controller."""

    def back_off(self) -> None:
        super().back_off()
        self.broker.crash()


@defect("730.5", NOTHING)
class NoErrorIsFatal(ProducerIds):
    """CLUSTER_AUTHORIZATION_FAILED is retried, although the configuration says what the KIP says."""

    def answer(self, body: IdResponseBody) -> None:
        if body.data.error_code == IdErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            body = replace(body, data=replace(body.data, error_code=IdErrorCode.UNKNOWN_SERVER_ERROR.value))
        super().answer(body)


@defect("730.6", NOTHING)
class NeverThrottles(Controller):
    """The quota is counted, and no broker has to wait."""

    def throttle(self, body: IdRequestBody) -> int:
        super().throttle(body)
        return 0


@defect("730.6", NOTHING)
class ThrottleIgnored(ProducerIds):
    """The broker asks again although it has to stay silent."""

    def answer(self, body: IdResponseBody) -> None:
        super().answer(replace(body, data=replace(body.data, throttle_time_ms=0)))


@defect("730.9", NOTHING)
class AuditLogWithoutBroker(Controller):
    """The records say which ids are used up, and not who got them."""

    def record_for(self, request: AllocateProducerIdsRequest, block: Block) -> ProducerIdsRecord:
        return replace(super().record_for(request, block), broker_id=-1, broker_epoch=-1)


@defect("730.21", NOTHING, name="rpc_from_2_8", part="uses_rpc")
def from_2_8(config: Config) -> bool:
    """The RPC is used one version too early."""
    return config.mode == "kraft" or protocol_version(config.inter_broker_protocol) >= protocol_version("2.8-IV1")


REGISTRY = registry(Parts, build, __name__)
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
