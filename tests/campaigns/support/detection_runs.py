"""What a campaign consists of: runs that look for one defect with one seed, and runs on what is right, in which nothing
must be found.  A worker process imports this module by name, so that a run is named by words and numbers alone."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, Literal, NamedTuple

from fencepost.proofs.cli.agree import as_predicted
from fencepost.proofs.testing import agree
from fencepost.proofs.testing.coverage import Coverage
from fencepost.proofs.testing.observing import outside
from fencepost.proofs.testing.search import Search
from fencepost.properties.catalogue import protocols
from fencepost.properties.conformance_spec import DRIVEN, Agreeing, driven, over_the_wire
from fencepost.properties.history import HistoryError
from fencepost.properties.registry import folder
from fencepost.reference_impl.simulation.defects import Breaks

EXAMPLES = 100
"""Clusters at most, as many as `fencepost agree` drives by default."""
CHUNK = 250
"""Clusters in one run on what is right."""

How = Literal["promises", "model"]
"""``promises``: by promises alone and what a black box shows; ``model``: as `fencepost agree` does by default."""


class Run(NamedTuple):
    """``part``: a ``defect`` is looked for, or the reference (``quiet``) or brokers (``live``) are driven, in which
    nothing must be found; ``of``: which defect, or which variant."""

    part: str
    protocol: str
    of: str
    seed: int
    how: How
    clusters: int


def defects(protocol: str, broken: tuple[str, ...] = ("promise", "progress", "conformance")) -> dict[str, Any]:
    """The defects of a protocol's reference that break something, by name."""
    module = import_module(f"fencepost.reference_impl.defects.{folder(protocol)}")
    return {name: one for name, one in sorted(module.REGISTRY.items()) if one.breaks.value in broken}


def is_followed_in(agreeing: Agreeing, variant: str, config: Mapping[str, Any]) -> bool:
    """Whether there is a model to follow with this configuration."""
    given = {**agreeing.small, **config, "mode": variant}
    if agreeing.follow is None or variant in agreeing.unfollowed:
        return False
    with suppress(HistoryError):
        return [agreeing.follow(variant, part) for part in agreeing.parts(given)] != []
    return False


def found_after(protocol: str, defect: Any, seed: int, how: How = "model", clusters: int = EXAMPLES) -> int | None:
    """Clusters until the first failure; None if there is none among so many.  Of a variant that breaks promises by
    itself, and that no model follows, what the defect's own rule says is asked alone."""
    agreeing, config, observed = driven(protocol), dict(defect.needs), None
    rule, breaks = defect.rule, defect.breaks
    variant = config.pop("mode", agreeing.variants[0])
    excused = agreeing.expecting.get(variant, frozenset())
    is_followed = is_followed_in(agreeing, variant, config)
    if how == "promises":
        observed = agreeing.black_box
        agreeing, defect = replace(agreeing, follow=None), outside(defect, observed)
    only = None
    if not is_followed:
        agreeing = replace(agreeing, follow=None)
        only = frozenset({rule}) if breaks is Breaks.CONFORMANCE else None
    search = Search(agreeing, defect, variant, config, excused, observed, (), only)
    search.coverage = Coverage.of_steps()
    search.further = 0
    search.search(seed, clusters, agreeing.steps, None)
    return search.examples_to_failure or None if search.failures else None


def alarms(run: Run, bootstrap: str = "") -> dict[str, Any]:
    """What is found in what is right, which should be nothing: with the program that shows it.  A variant that is
    predicted to break a promise is driven until it does.  ``bootstrap``: of the brokers that are driven in place of the
    reference."""
    agreeing = over_the_wire(run.protocol) if run.part == "live" else driven(run.protocol)
    if agreeing is None:
        raise ValueError(f"{run.protocol} cannot be driven over the wire")
    by_promises = run.how == "promises"
    report = agree(
        agreeing.reference, protocol=agreeing, variant=run.of, seed=run.seed, max_examples=run.clusters,
        config={"bootstrap": bootstrap} if run.part == "live" else None, promises_only=by_promises,
        observe="black-box" if by_promises else None, verdict_only=True,
    )  # fmt: skip
    predicted = as_predicted(report, agreeing) if report.failure else ""
    found = [] if report.failure is None or predicted else [f"{report.failure}\n{report.program}"]
    return {"driven": report.examples, "alarms": found, "predicted": predicted, "followed": report.followed}


def done(run: Run, bootstrap: str = "") -> dict[str, Any]:
    """Does a run; what came of it, with the seconds that it took."""
    began = time.monotonic()
    if run.part == "defect":
        came: dict[str, Any] = {
            "found": found_after(run.protocol, defects(run.protocol)[run.of], run.seed, run.how, run.clusters)
        }
    else:
        came = alarms(run, bootstrap)
    return {**run._asdict(), **came, "seconds": round(time.monotonic() - began, 1)}


def looked_for(seeds: range, protocols: list[str]) -> list[Run]:
    """Runs for each defect and seed: by the model, and where it breaks a promise by promises alone as well."""
    return [
        Run("defect", protocol, name, seed, how, EXAMPLES)
        for seed in seeds for protocol in protocols for name, one in defects(protocol).items()
        for how in (("model",) if one.breaks.value == "conformance" else ("promises", "model"))
    ]  # fmt: skip


def quiet(seed: int, clusters: int, protocols: list[str]) -> list[Run]:
    """Runs on the reference: of each variant half of the clusters as `agree` drives them, half seen from outside."""
    return [
        Run("quiet", protocol, variant, seed + number, how, min(CHUNK, clusters // 2 - CHUNK * number))
        for number in range(-(-(clusters // 2) // CHUNK))
        for protocol in protocols for variant in driven(protocol).variants for how in ("model", "promises")
    ]  # fmt: skip


def live(seed: int, clusters: int, protocols: list[str], variants: list[str]) -> list[Run]:
    """Runs on brokers, of the variants that they have."""
    return [
        Run("live", protocol, variant, seed + number, "model", min(CHUNK, clusters - CHUNK * number))
        for protocol in protocols if (remote := over_the_wire(protocol)) is not None
        for variant in remote.variants if variant in variants
        for number in range(-(-clusters // CHUNK))
    ]  # fmt: skip


PROTOCOLS = [name for name in DRIVEN if protocols()[name].verified]
