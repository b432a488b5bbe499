"""The model of one transactional id, as it is followed through brokers over the wire, which act by themselves."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fencepost.model.transactions.detailed.releases import OfAnyRelease
from fencepost.properties.agreement import Followed
from fencepost.properties.transactions.observations.calls_remote import calls
from fencepost.properties.transactions.observations.remote import BY_VARIANT
from fencepost.properties.transactions.online.followed import IGNORED, LAST, MODELS, read_by
from fencepost.properties.transactions.online.interpreter_remote import RemoteInterpreter

REMOTE_MODELS = {**MODELS, "v2": OfAnyRelease}
ROOM = {"clients": 48, "transactions": 64, "epochs": 128, "fail_overs": 0}
"""More than most programs need: whoever needs more is not followed to the end.  Coordinators do not change."""


def follow_remote(variant: str, config: Mapping[str, Any]) -> Followed:
    """The model of a cluster of which only its clients are seen."""
    return _followed(
        variant, config.get("partitions", 1), config.get("groups", 0), bool(config.get("collapse", False)),
        bool(config.get("timeouts", False)), config.get("transaction_timeout_ms", 60_000),
    )  # fmt: skip


@lru_cache(maxsize=64)
def _followed(variant: str, partitions: int, groups: int, collapse: bool, timeouts: bool, timeout_ms: int) -> Followed:
    config = {"mode": variant, "partitions": partitions, "last": LAST[variant], "cut": True, "timeouts": timeouts,
              "transaction_timeout_ms": timeout_ms}  # fmt: skip
    bounds = {**ROOM, "partitions": partitions + groups}
    followed = read_by(RemoteInterpreter, REMOTE_MODELS, config, bounds, BY_VARIANT, calls(collapse, timeouts))
    return replace(followed, ignored=IGNORED - {"record_failed"}, tired=True)
