"""The model of one transactional id, as it is followed through a cluster under way: `agreement.py` says by whom."""

from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any

from fencepost.model.language import Protocol
from fencepost.model.language.derived.mutations import settled
from fencepost.model.language.observations import Observation
from fencepost.model.language.tree.types import Bounds
from fencepost.model.transactions.detailed.expiry import ExpiringV1, ExpiringVerified
from fencepost.model.transactions.detailed.releases import ExpiringOf400
from fencepost.properties.agreement import Allowed, Followed
from fencepost.properties.transactions.observations.calls import CALLS, SHOWN_AND_UNSHOWN
from fencepost.properties.transactions.observations.events import COLUMNS
from fencepost.properties.transactions.online.interpreter import TransactionsInterpreter

MODELS = {"v1": ExpiringV1, "v1-verified": ExpiringVerified, "v2": ExpiringOf400}

ROOM = {"clients": 64, "transactions": 96, "epochs": 512, "fail_overs": 12}
"""More than most programs need: whoever needs more is not followed to the end."""
LAST = {"v1": 62, "v1-verified": 62, "v2": 94}
"""No program comes to the last of Kafka's epochs, but some to another producer id: its numbers begin after fewer."""

IGNORED = frozenset({
    "client_started", "client_stopped", "client_failed", "record_failed", "leader_changed", "stable_moved", "fetched",
})  # fmt: skip


def each_id(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A cluster is followed for each of its transactional ids by itself: the model has one."""
    return [{**config, "txn_id": txn_id} for txn_id in range(config.get("ids", 1))]


def follow(variant: str, config: Mapping[str, Any]) -> Followed:
    """The model of a cluster, as far as one transactional id is concerned."""
    keys = ("partitions", "groups", "max_epoch", "transaction_timeout_ms", "ids", "txn_id")
    defaults = (1, 0, 32767, 60_000, 1, 0)
    return _followed(variant, *(config.get(key, default) for key, default in zip(keys, defaults, strict=True)))


@lru_cache(maxsize=256)
def _followed(
    variant: str, partitions: int, groups: int, max_epoch: int, timeout_ms: int, ids: int, txn_id: int
) -> Followed:
    last = min(max_epoch - 1, LAST[variant])
    config = {"mode": variant, "partitions": partitions, "last": last, "cut": last < max_epoch - 1,
              "transaction_timeout_ms": timeout_ms, "ids": ids, "txn_id": txn_id}  # fmt: skip
    bounds = {**ROOM, "partitions": partitions + groups}
    return read_by(TransactionsInterpreter, MODELS, config, bounds, SHOWN_AND_UNSHOWN, CALLS)


def read_by(
    interpreter: type[TransactionsInterpreter],
    models: Mapping[str, type[Protocol]],
    config: Mapping[str, Any],
    bounds: Bounds,
    observations: Mapping[str, tuple[Observation, ...]],
    calls: Mapping[str, Allowed],
) -> Followed:
    """``models`` and ``observations`` are by variant, which is the config's mode."""
    variant = config["mode"]
    return Followed(
        variant, settled(models[variant]), {"last": config["last"]}, bounds, COLUMNS, observations[variant], calls,
        partial(interpreter, config, bounds), ignored=IGNORED,
    )  # fmt: skip
