"""What comes in the end comes to TLC as well, under the same fairness; and what does not, does not."""

from pathlib import Path

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.readings.tla import files, of_variant, write
from fencepost.properties.catalogue import changed, find
from tlc import tlc

QUICK = ("id-blocks/zookeeper",)  # one property fails, in a cycle; steps may leave the bounds
OTHERS = (
    "transactions/core-v2",
    "transactions/core-v1-prompt",
    "transactions/core-v1-verified-prompt",
    "transactions/core-v2-overlapping",
    "transactions/v2",
    "transactions/v1-prompt",
    "transactions/v1-verified-prompt",
    "transactions/v1-hanging",
    "transactions/v2-marker-once-only",
    "idempotence/idempotent",
    "idempotence/same-epoch",
    "idempotence/new-epoch",
    "idempotence/forgetful-giving-up",
    "idempotence/forgetful-new-epoch",
    "idempotence/forgetful-one-under-way",
    "read-committed/read-committed",
    "transactional-offsets/transactional-offsets",
    "transactional-offsets/offsets-deleted",
    "transactional-offsets/offsets-marker-dropped",
    "transaction-partitions/parked-v2",
    "task-count-deletion/deletion",
    "group-fencing/shipped",
    "group-fencing/draft-equal-generation-refused",
    "group-fencing/markers-may-wait",
    "source-commits/null-offsets-left-out",
    "source-offsets/migration-sentinel",
    "source-offsets/migration-without-sentinel",
    "source-offsets/downgrade-and-back",
    "end-to-end/abstract",
)
"""All variants of which progress is asked within bounds of 3,000 states or fewer; larger ones take TLC minutes."""


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.nightly(nights=12)) for name in OTHERS)]
)
def test_the_same_verdicts(name: str, tmp_path: Path) -> None:
    """Each progress property by itself."""
    entry, variant = find(name)
    assert variant is not None
    bounds = changed(variant, variant.bounds["smoke"], variant.progress_bounds[0])
    asked = {n: item for n, item in variant.asked.items() if item.kind == "eventually"}
    verdicts = {n: found.verdict for n, found in check_progress(explore(variant.spec, asked, bounds)).items()}
    made = of_variant(entry, variant, bounds)
    assert set(made.progress) == set(verdicts)
    write(tmp_path, files([made]))
    constants = made.configuration.partition("INIT Init")[0]
    for item in made.progress:
        configuration = tmp_path / f"{made.stem}Liveness.cfg"
        configuration.write_text(f"{constants}SPECIFICATION FairSpec\nPROPERTIES {item}\n")
        reported = tlc(tmp_path, f"{made.stem}Liveness").output
        violated = "Temporal properties were violated" in reported
        assert violated or "No error has been found" in reported
        assert verdicts[item] == ("violated" if violated else "holds"), item
