"""Protocols that only a test names: what naming them changes is taken back after it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from fencepost.model import rules
from fencepost.properties import registry

_added: tuple[dict[str, str], dict[str, rules.Rule]] = ({}, {})
"""Sources and rules of packages that were imported before: a second import of them in this process adds nothing."""


@contextmanager
def taken_back() -> Iterator[None]:
    """Rules, protocols and the places of packages are as before afterwards."""
    sources, numbers = _added
    with (
        mock.patch.dict(rules.RULES, numbers), mock.patch.dict(rules.AREAS, sources),
        mock.patch.dict(registry.PROTOCOLS), mock.patch.dict(os.environ), mock.patch.object(sys, "path", [*sys.path]),
    ):  # fmt: skip
        before = {*rules.RULES}, {*rules.AREAS}
        yield
        numbers.update({number: rule for number, rule in rules.RULES.items() if number not in before[0]})
        sources.update({area: source for area, source in rules.AREAS.items() if area not in before[1]})
