"""This module judges what is recorded of a driven system when its program is over.

found = recording(system, "module:record")
found.broken                        # the properties that are violated
found.differs                       # or where the model cannot follow, and what is false there
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.scale.replay import Undecided, replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.monitoring import Broken


@dataclass(frozen=True)
class RecordedRun:
    """A `RecordedRun` is how the record of a run was judged. ``broken`` has violations in the order of their events.
    ``differs`` is the first event that is no step of the model, with what is false, and ``left`` why the model did not
    decide that; both are empty if it followed the record to its end."""

    events: int
    broken: tuple[Broken, ...]
    differs: str
    left: str


def recording(system: Any, recorder: str, quiet_end: bool = False) -> RecordedRun:
    """Record a driven system with a recorder, named as module:function, and judge the record by all history properties
    and by the model. ``quiet_end`` says that nothing is left to happen."""
    module, _, name = recorder.partition(":")
    with TemporaryDirectory(prefix="fencepost-recorded-") as scratch:
        out = Path(scratch) / "out"
        try:
            made = getattr(import_module(module), name)(**system.sources(Path(scratch)), out=out, quiet_end=quiet_end)
        except RecordingError as error:
            return RecordedRun(0, (), "", f"it cannot be recorded: {error}")
        model = conformance_of(made.manifest)
        report = replay(out, cores=1, further={"conformance": model})
    found = {name: broken["first"] for name, broken in report.violations.items()}
    misfit, of = found.pop("conformance", None), properties_of(made.manifest.protocol)
    ordered = sorted((broken.step, of.rules[name], broken.told, name) for name, broken in found.items())
    broken = (Broken(r, text, at_rest=of.properties[name].needs_quiet_end) for _, r, text, name in ordered)
    reasons = model.reason if isinstance(model, Undecided) else "; ".join(report.undecided.get("conformance", ()))
    return RecordedRun(report.events, tuple(broken), misfit.told if misfit else "", reasons)
