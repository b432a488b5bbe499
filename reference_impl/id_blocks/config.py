"""The configuration of one cluster: keys, defaults, ranges and reasons.

Where the KIP and the shipped code differ, both are an option here: `authorization_error`.
"""

from dataclasses import dataclass
from typing import Annotated

from fencepost.reference_impl.simulation.config import AtLeast, AtMost, Configuration, OneOf, Positive

LONG_MAX = 2**63 - 1

# From this inter-broker protocol on a broker of a ZooKeeper-mode cluster uses the RPC (730.21).
RPC_SINCE = "3.0-IV0"


@dataclass(frozen=True, slots=True)
class Config(Configuration):
    """One cluster. Times are virtual milliseconds."""

    seed: int = 0
    brokers: Positive = 3
    controllers: Positive = 3
    block_size: Positive = 1000  # ids per block: the controller's to choose (730.8)
    # The exhaustion point: ids run from 0 to max_id - 1 (730.16).
    max_id: Annotated[int, AtLeast(1), AtMost(LONG_MAX, "producer ids are int64")] = LONG_MAX
    # bridge: ZooKeeper that can migrate to KRaft
    mode: Annotated[str, OneOf("kraft", "zookeeper", "bridge")] = "kraft"
    prefetch: float = 0.9  # share of a block after which the next one is requested; 0 disables (730.12)
    inter_broker_protocol: str = "2.8-IV1"  # of all brokers at the start; below 3.0-IV0 they use ZooKeeper directly
    backoff_ms: int = 50
    request_timeout_ms: int = 1000  # shipped: 60 s; scaled to the histories
    # retried: as shipped; fatal: the broker terminates (730.5)
    authorization_error: Annotated[str, OneOf("retried", "fatal")] = "retried"
    # A request reaches the node that is active then.
    controller_discovery: Annotated[str, OneOf("at_delivery", "at_sending")] = "at_delivery"
    quota_per_second: float = 0.0  # AllocateProducerIds requests per broker before throttling (730.6); 0: unlimited

    def relate(self) -> None:
        """Raises ValueError for a prefetch that is no share, or an inter-broker protocol that Kafka never had."""
        if not 0 <= self.prefetch < 1:
            raise ValueError(f"config prefetch={self.prefetch}: a share of the block, 0 <= prefetch < 1; 0 disables it")
        if protocol_version(self.inter_broker_protocol) < (0, 8):
            raise ValueError(f"config inter_broker_protocol={self.inter_broker_protocol!r}: no such Kafka version")

    @property
    def starts_with_zookeeper(self) -> bool:
        """Whether ZooKeeper holds the block at the start."""
        return self.mode != "kraft"

    @property
    def starts_with_rpc(self) -> bool:
        """Whether the brokers start with the RPC: in KRaft always, in ZooKeeper mode by version (730.21)."""
        return self.mode == "kraft" or protocol_version(self.inter_broker_protocol) >= protocol_version(RPC_SINCE)


def protocol_version(text: str) -> tuple[int, ...]:
    """`3.0-IV1` as (3, 0, 1), so that versions compare; a version without -IV stands for its last one."""
    release, _, revision = text.partition("-IV")
    try:
        return (*(int(part) for part in release.split(".")), int(revision) if revision else 99)
    except ValueError:
        raise ValueError(f"inter-broker protocol {text!r}: expected a version such as 2.8-IV1 or {RPC_SINCE}") from None
