"""Configurations that users may name and examples do not draw: the reference breaks no promise in them."""

import pytest
from fencepost.proofs.testing import agree

REFERENCE = "fencepost.reference_impl.systems.transactions:reference"
EXPIRING = {"expiration_ms": 20_000, "expiration_check_ms": 5_000}  # an idle client's id is forgotten between two calls
WITHOUT_CLIENT = {"ids": 2, "clients": 1}  # one of the ids has no client


@pytest.mark.parametrize("variant", ["v2", "v1-verified"])
@pytest.mark.parametrize("config", [EXPIRING, WITHOUT_CLIENT], ids=["ids-expire-soon", "more-ids-than-clients"])
def test_no_alarm_on_the_reference(variant: str, config: dict[str, int]) -> None:
    """txn.P8 and txn.P10 are of producers whose ids are not forgotten meanwhile, and of ids that have clients."""
    report = agree(
        REFERENCE, protocol="transactions", variant=variant, seed=1, max_examples=8, config=config,
        promises_only=True, verdict_only=True,
    )  # fmt: skip
    assert (report.verdict, report.failure) == ("holds", None)


def test_the_model_knows_that_an_id_may_be_expiring() -> None:
    """Meanwhile InitProducerId is answered with CONCURRENT_TRANSACTIONS (51), however soon ids expire."""
    assert agree(REFERENCE, protocol="transactions", seed=0, max_examples=4, config=EXPIRING).failure is None
