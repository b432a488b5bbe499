"""Kafka's requests by name and version: kio's classes, made from plain numbers and texts.

`build("end_txn", 4, transactional_id="a", producer_id=1, producer_epoch=0, committed=True)` is a request of that
version. A field that this version does not have is an error, unless its name is in `since`: then it is left out.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta
from functools import cache
from importlib import import_module
from typing import Any

from kio.static.primitive import i32Timedelta

API_KEYS: Mapping[str, int] = {
    "produce": 0, "fetch": 1, "list_offsets": 2, "metadata": 3, "offset_fetch": 9, "find_coordinator": 10,
    "api_versions": 18, "create_topics": 19, "delete_topics": 20, "init_producer_id": 22, "add_partitions_to_txn": 24,
    "add_offsets_to_txn": 25, "end_txn": 26, "txn_offset_commit": 28, "describe_configs": 32,
    "describe_transactions": 65,
}  # fmt: skip


@cache
def schema(api: str, version: int, name: str = "") -> Any:
    """A class of kio's schema: the request itself, or what lies in it. Raises ModuleNotFoundError, AttributeError."""
    module = import_module(f"kio.schema.{api}.v{version}.request")
    return getattr(module, name or "".join(word.capitalize() for word in api.split("_")) + "Request")


def build(api: str, version: int, part: str = "", /, since: Collection[str] = (), **fields: Any) -> Any:
    """A request, or with `part` the class of that name in it."""
    kind = schema(api, version, part)
    known = kind.__dataclass_fields__
    return kind(**{key: value for key, value in fields.items() if key in known or key not in since})


@cache
def milliseconds(ms: int) -> Any:
    """A duration in a request."""
    return i32Timedelta.parse(timedelta(milliseconds=ms))
