"""This module chooses the version of each request with a cluster: the newest that both sides know and that the mode
allows.

A mode corresponds to the clients of a time. In `v1` and `v1-verified`, clients end transactions with EndTxn up to
version 4 and add partitions themselves. `v2` (KIP-890, part 2) needs Produce 12, EndTxn 5 and TxnOffsetCommit 5, and
the feature transaction.version at 2. The client cannot choose whether a broker verifies (v1-verified) or not (v1): this
is the broker's setting transaction.partition.verification.enable, which is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fencepost.reference_impl.kafka.errors import error_text
from fencepost.reference_impl.live.tcp.connection import (
    UNSUPPORTED_VERSION,
    Connection,
    NoAnswer,
    WireError,
)
from fencepost.reference_impl.live.tcp.reading import API_KEYS, build, reading

BROKER_RESOURCE = 4  # ConfigResource.Type.BROKER
VERIFICATION = "transaction.partition.verification.enable"
TRANSACTION_VERSION = "transaction.version"


class Bounds(NamedTuple):
    """A `Bounds` is the range of versions from ``least`` to ``most``, both included."""

    least: int
    most: int


# Later versions name topics by ids (Produce 13, Fetch 13), ask for several keys at once (FindCoordinator 4, OffsetFetch
# 8, AddPartitionsToTxn 4), or are another protocol (InitProducerId 6). kio has no version before Produce 3.
OURS: Mapping[str, Bounds] = {
    "produce": Bounds(3, 12), "fetch": Bounds(7, 12), "list_offsets": Bounds(2, 7), "metadata": Bounds(8, 8),
    "offset_fetch": Bounds(5, 7), "find_coordinator": Bounds(1, 3), "create_topics": Bounds(4, 5),
    "delete_topics": Bounds(1, 5),
    "init_producer_id": Bounds(0, 5), "add_partitions_to_txn": Bounds(0, 3), "add_offsets_to_txn": Bounds(0, 3),
    "end_txn": Bounds(0, 5), "txn_offset_commit": Bounds(0, 5), "describe_configs": Bounds(1, 4),
    "describe_producers": Bounds(0, 0), "describe_transactions": Bounds(0, 0), "list_transactions": Bounds(0, 2),
}  # fmt: skip
OPTIONAL = frozenset(
    {
        "create_topics", "delete_topics", "describe_configs", "describe_producers", "describe_transactions",
        "list_transactions",
    }
)  # fmt: skip
_BEFORE_V2 = {"produce": Bounds(3, 11), "end_txn": Bounds(0, 4), "txn_offset_commit": Bounds(0, 4)}
MODES: Mapping[str, Mapping[str, Bounds]] = {
    "v1": _BEFORE_V2,
    # TRANSACTION_ABORTABLE was added in these versions; a broker that knows them verifies, unless it reports that it
    # does not.
    "v1-verified": _BEFORE_V2 | {"produce": Bounds(11, 11), "txn_offset_commit": Bounds(4, 4)},
    "v2": {"produce": Bounds(12, 12), "end_txn": Bounds(5, 5), "txn_offset_commit": Bounds(5, 5)},
}


@dataclass(frozen=True, slots=True)
class Offered:
    """An `Offered` is a cluster's offer: version bounds by api key, finalized features, and verification."""

    address: str
    bounds: Mapping[int, Bounds]
    features: Mapping[str, int] = field(default_factory=dict)
    verifies: bool | None = None  # None: the broker does not say
    supported: Mapping[str, int] = field(default_factory=dict)  # the greatest level of each feature that it has

    def version(self, api: str, mode: str = "") -> int | None:
        """Return the newest version of a request that both sides know, or None if there is none."""
        ours, theirs = MODES.get(mode, {}).get(api, OURS[api]), self.bounds.get(API_KEYS[api])
        if theirs is None:
            return None
        most = min(ours.most, theirs.most)
        return most if most >= max(ours.least, theirs.least) else None

    def negotiate(self, mode: str) -> dict[str, int]:
        """Return the version of every request in a mode. Raise WireError if the mode cannot be used."""
        spoken = {}
        for api in OURS:
            version = self.version(api, mode)
            if version is not None:
                spoken[api] = version
            elif api not in OPTIONAL:
                raise WireError(self._refusal(mode, api))
        level = self.features.get(TRANSACTION_VERSION, 0)
        if mode == "v2" and level < 2:
            raise WireError(
                f"{self.address}: mode v2 needs the feature {TRANSACTION_VERSION} at 2, the cluster has {level}; "
                f"raise it with kafka-features.sh, or use mode v1-verified"
            )
        if self.verifies is not None and self.verifies != (mode != "v1") and mode != "v2":
            other = "v1-verified" if self.verifies else "v1"
            raise WireError(
                f"{self.address}: mode {mode} needs {VERIFICATION}={str(not self.verifies).lower()}, the broker has "
                f"{str(self.verifies).lower()}; change it, or use mode {other}"
            )
        return spoken

    def _refusal(self, mode: str, api: str) -> str:
        ours, theirs = MODES[mode].get(api, OURS[api]), self.bounds.get(API_KEYS[api])
        has = f"has {theirs.least} to {theirs.most}" if theirs else "does not know it"
        words = "".join(word.capitalize() for word in api.split("_"))
        return (
            f"{self.address}: mode {mode} needs {words} {ours.least} to {ours.most}, the broker {has}; use another mode"
        )


def offered_by(connection: Connection, broker: int) -> Offered:
    """Return what a broker offers. Raise WireError if it does not answer."""
    address = f"{connection.host}:{connection.port}"
    fields = {"client_software_name": "fencepost", "client_software_version": "1"}
    for version in (3, 2, 0):
        request = build("api_versions", version, since=fields, **fields)
        answer = connection.call(request)
        if int(answer.error_code) != UNSUPPORTED_VERSION:
            break
    with reading(request, answer):
        if int(answer.error_code):
            raise WireError(f"{address}: does not say what it offers: {error_text(answer.error_code)}")
        bounds = {int(key.api_key): Bounds(int(key.min_version), int(key.max_version)) for key in answer.api_keys}
        features = {each.name: int(each.max_version_level) for each in getattr(answer, "finalized_features", ())}
        supported = {each.name: int(each.max_version) for each in getattr(answer, "supported_features", ())}
    offered = Offered(address, bounds, features, None, supported)
    return replace(offered, verifies=_verifies(connection, broker, offered.version("describe_configs")))


def _verifies(connection: Connection, broker: int, version: int | None) -> bool | None:
    if version is None:
        return None
    asked = build(
        "describe_configs", version, "DescribeConfigsResource", resource_type=BROKER_RESOURCE,
        resource_name=str(broker), configuration_keys=(VERIFICATION,),
    )  # fmt: skip
    request = build("describe_configs", version, resources=(asked,))
    try:
        answer = connection.call(request)
    except NoAnswer:
        return None
    with reading(request, answer):
        configs = [config for result in answer.results for config in result.configs or ()]
        values = [config.value for config in configs if config.name == VERIFICATION]
        return values[0] == "true" if values else None
