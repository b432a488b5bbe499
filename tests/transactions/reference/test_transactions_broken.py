"""Broken implementations of transactions are reached by name; `test_agreement_transactions` finds each of them."""

import pytest
from fencepost.reference_impl.transactions.defects import broken


def test_broken_implementations_are_factories():
    """Each is reached by name and called with a config, as any implementation is; its own needs are the defaults."""
    system = broken.marker_retry_refused({"partitions": 3})
    assert (system.env.config.mode, system.env.config.partitions) == ("v2", 3)
    assert broken.unverified({}).env.config.mode == "v1-verified"


def test_unknown_names_are_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="epoch_before_pending"):
        broken.find("nonsense")
    with pytest.raises(AttributeError, match="epoch_before_pending"):
        broken.nonsense  # noqa: B018
