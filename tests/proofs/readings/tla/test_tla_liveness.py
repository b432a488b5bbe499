"""What comes in the end comes to TLC as well, under the same fairness; and what does not, does not."""

from pathlib import Path

import pytest
from fencepost.proofs.engines.explore import explore
from fencepost.proofs.engines.progress import check_progress
from fencepost.proofs.readings.tla import files, of_variant, write
from fencepost.properties.catalogue import changed, find
from tlc import tlc

NIGHTLY = pytest.mark.nightly(nights=2)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("id-blocks/zookeeper", {}),  # one property fails, in a cycle; steps may leave the bounds
        pytest.param("idempotence/idempotent", {}, marks=NIGHTLY),
    ],
)
def test_the_same_verdicts(name: str, changes: dict[str, int], tmp_path: Path) -> None:
    """Each progress property by itself."""
    entry, variant = find(name)
    assert variant is not None
    bounds = changed(variant, variant.bounds["smoke"], {**variant.progress_bounds[0], **changes})
    asked = {n: item for n, item in variant.asked.items() if item.kind == "eventually"}
    verdicts = {n: found.verdict for n, found in check_progress(explore(variant.spec, asked, bounds)).items()}
    made = of_variant(entry, variant, bounds)
    assert set(made.progress) == set(verdicts)
    write(tmp_path, files([made]))
    constants = made.configuration.partition("INIT Init")[0]
    for item in made.progress:
        configuration = tmp_path / f"{made.stem}Liveness.cfg"
        configuration.write_text(f"{constants}SPECIFICATION FairSpec\nPROPERTIES {item}\n")
        said = tlc(tmp_path, f"{made.stem}Liveness").output
        violated = "Temporal properties were violated" in said
        assert violated or "No error has been found" in said
        assert verdicts[item] == ("violated" if violated else "holds"), item
