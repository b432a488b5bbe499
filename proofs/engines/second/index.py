"""This module has the form of the index of a directory of certificates."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fencepost.proofs.engines.second.statements import Statement

INDEX, STATEMENT, PROOF = "index.json", "statement.smt2", "proof.cpc"
SCHEMA = 2
WRITTEN_BY = "fencepost prove --certificates"
Row = dict[str, Any]


def about(protocol: str, variant: str, stated: Statement) -> Row:
    """Return what a row of the index says of a step."""
    o = stated.obligation
    return {
        "says": stated.says,
        "protocol": protocol,
        "variant": variant,
        "property": o.property,
        "kind": o.kind,
        "action": o.action,
        "how": o.how,
        "rules": list(stated.rules),
        "uses": list(o.uses),
    }


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def hash_of_index(index: Mapping[str, Any]) -> str:
    """Return the hash of everything that an index says but this hash."""
    return hash_of(json.dumps({key: value for key, value in index.items() if key != "sha256"}, sort_keys=True))
