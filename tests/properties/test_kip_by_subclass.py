"""A KIP that is tried without a fork, as README says: a package outside, with one action overridden."""

import os
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from command_line import fencepost
from fencepost.properties import registry
from own_protocols import taken_back

EAGER = '''
"""KIP-730 with an answer that does not wait for the commit of the block's record."""

from fencepost.model.id_blocks.brokers import Request, Stage
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import action, require
from fencepost.properties.entries import ProtocolEntry, Variant
from fencepost.properties.id_blocks.claims import KraftProperties
from fencepost.properties.id_blocks.variants import KRAFT


class Eager(Kraft):
    """The controller answers at once."""

    @action(fair="weak")
    def answer(s, r: Request):
        """The controller answers with a block whose record may be lost."""
        require(s.stage[r] == Stage.RECORDED)
        s.stage[r] = Stage.ANSWERED
        s.grant_up_to(s.first[r], s.block_end(r))


class EagerProperties(KraftProperties, of=Eager):
    """All promises and lemmas of Kraft."""


ENTRIES = (
    ProtocolEntry("mykip", "An eager answer.", (Variant("eager", EagerProperties, "it is", bounds=KRAFT),), {}),
)
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package stands in the working directory, and what naming it changes is taken back."""
    (tmp_path / "mykip").mkdir()
    (tmp_path / "mykip" / "claims.py").write_text(EAGER)
    with taken_back(), mock.patch.dict(registry.PROTOCOLS), mock.patch.dict(os.environ):
        monkeypatch.chdir(tmp_path)
        yield


def test_one_action_is_overridden_and_all_promises_are_judged() -> None:
    """A promise of Kraft breaks, in a shortest run of thirteen steps."""
    ran = fencepost("show", "mykip/eager", "no id twice")
    assert (
        ran.code == 1 and "It is broken after 13 steps, and not in fewer: a producer id is handed out twice" in ran.out
    )
