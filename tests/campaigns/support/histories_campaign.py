"""Simulated histories of the reference in great number: none may violate conformance, nor any history property but as
its variant declares and the model allows.

    python tests/script.py tests/campaigns/support/histories_campaign.py FILE [HISTORIES [PROTOCOL/VARIANT...]]

Of every variant of every protocol that can be simulated, or of those that are named.  FILE keeps what is done, in
batches of 5,000 histories with a seed each: a run that was stopped goes on where it was as long as the code is the
same, and a finished one says the commits, the seeds and the date.  Of each batch it has the events, what was violated,
what was violated as predicted, and what the model could not follow.  Exit code 1 if anything is violated.
"""

import json
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from checked_out import code, commit
from fencepost.proofs.scale.generate import generate, vocabularies_of
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.traces import conformance_of, predicted_of
from fencepost.properties.catalogue import find, protocols

BATCH = 5_000
NOTHING: Mapping[str, Any] = MappingProxyType({})
JUDGED_BY = ("proofs/scale", "proofs/traces", "proofs/readings", "tests/campaigns/support/histories_campaign.py")
VARIANTS = tuple(
    f"{protocol}/{one[0]}"
    for protocol, entry in protocols().items()
    for one in entry.verified_simulators
    if not vocabularies_of(one[1], one[2])  # what is told in several has a campaign of its own (whole_campaign.py)
)


def batch(
    which: str, seed: int, histories: int = BATCH, cores: int | None = None, more: Mapping[str, Any] = NOTHING
) -> dict[str, Any]:
    """What came of so many histories of one variant, which is named as protocol/variant; ``more``: keys of its
    configuration that are not as usual."""
    protocol, _, variant = which.partition("/")
    function, config = next((f, c) for name, f, c in find(which)[0].simulators if name == variant)
    with tempfile.TemporaryDirectory() as folder:
        made = generate(
            Path(folder) / "h", function, histories=histories, seed=seed, config={**config, **more}, protocol=protocol,
            variant=variant, cores=cores,
        )  # fmt: skip
        report = replay(
            Path(folder) / "h", cores=cores, further={"conformance": conformance_of(made)}, excuses=predicted_of(made)
        )
    return {
        "variant": which, "seed": seed, "histories": report.histories, "events": report.events,
        "violations": {name: str(found["first"]) for name, found in report.violations.items()},
        "predicted": report.predicted, "undecided": report.undecided.get("conformance", {}),
        "followed": report.judged.get("conformance", 0),
    }  # fmt: skip


def main() -> int:
    place, wanted = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    variants = sys.argv[3:] or VARIANTS
    kept = json.loads(place.read_text()) if place.exists() else {"batches": []}
    own = {which: code(which.partition("/")[0], *JUDGED_BY) for which in VARIANTS}
    kept["batches"] = [one for one in kept["batches"] if one["code"] == own.get(one["variant"])]
    done = {(one["variant"], one["seed"]) for one in kept["batches"]}
    left = [(v, s) for s in range(1, -(-wanted // BATCH) + 1) for v in variants if (v, s) not in done]
    began = time.monotonic()
    for number, (variant, seed) in enumerate(left, 1):
        kept["batches"].append({"commit": commit(), "code": own[variant], **batch(variant, seed)})
        kept["date"] = time.strftime("%Y-%m-%d", time.gmtime())
        place.write_text(json.dumps(kept, indent=1) + "\n")
        each = (time.monotonic() - began) / number
        print(f"{variant}, seed {seed}: {kept['batches'][-1]['violations'] or 'nothing violated'}; "
              f"about {each * (len(left) - number) / 60:.0f} min left", flush=True)  # fmt: skip
    return int(any(one["violations"] for one in kept["batches"]))


if __name__ == "__main__":
    sys.exit(main())
