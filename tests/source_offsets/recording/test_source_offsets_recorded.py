"""Live connectors of Apache Kafka Connect 4.3.1 are recorded. One that gets its own offsets topic commits a record
twice, one from which it is taken away loses records, and the properties say so; a life without trouble breaks none."""

from pathlib import Path

import pytest
from command_line import fencepost
from connect_logs import is_shipped, judged, unpacked, written
from fencepost.proofs.recording import Recorded
from fencepost.proofs.recording.errors import RecordingError
from fencepost.proofs.recording.source_offsets.recorder import record_source_offsets
from fencepost.proofs.replays import _replayed, recordings
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.traces import conformance_of
from fencepost.properties.catalogue import FOLLOWED, protocols
from fencepost.properties.history import Manifest
from fencepost.properties.history.location import Location
from fencepost.properties.seeded_violations import END, Edit, Written, drop, put, swap
from fencepost.properties.source_offsets.events import SOURCE_OFFSETS, Kind

PLACES = {place.name.removeprefix("source-offsets-connect-"): place for place in recordings("source-offsets")}
ENTRY = protocols()["source-offsets"]
DECIDED = {"nothing_twice", "in_order", "nothing_skipped", "nothing_passed_over", "nothing_lost"}
each_recording = pytest.mark.parametrize("name", PLACES)


def recorded(name: str, folder: Path, quiet_end: bool = True) -> Recorded:
    logs = unpacked(name, folder)
    return record_source_offsets(
        sorted(logs.glob("node-*")), logs / "seen.jsonl", folder / "out", quiet_end=quiet_end, kafka_version="4.3.1"
    )  # fmt: skip


@each_recording
def test_the_catalogue_says_what_it_breaks_and_hides(name: str) -> None:
    """F2 and F3."""
    place = PLACES[name]
    manifest = Manifest.read(Location.of(place))
    report = replay(place, cores=1, further={"conformance": conformance_of(manifest)})
    variant, broken = ENTRY.variant(manifest.variant), ENTRY.violated[place.name]
    assert set(report.violations) == broken
    assert set(report.judged) == DECIDED
    pinned = ENTRY.undecided[place.name]
    found = _replayed(ENTRY, variant, variant.name, "it", report, "recordings", pinned, FOLLOWED, broken)
    assert [r.property for _, r in found if not r.as_expected] == []


@each_recording
def test_it_is_what_the_recorder_makes_of_the_stored_logs(name: str, tmp_path: Path) -> None:
    recorded(f"{name}-4.3.1", tmp_path)
    assert is_shipped(PLACES[name], tmp_path / "out")


@pytest.mark.parametrize("name", ["life-3.9.1", "life-4.3.1", "life-4.4.0"])
def test_a_life_without_trouble_holds(name: str, tmp_path: Path) -> None:
    made = recorded(name, tmp_path, quiet_end=False)
    assert (set(made.decidable), made.manifest.variant) == (DECIDED - {"nothing_lost"}, "shipped")
    report = replay(tmp_path / "out", cores=1)
    assert report.violations == {} and all(report.judged[name] for name in made.decidable)


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (drop(Kind.output_read, 0), {"nothing_skipped"}),
        (put(END, Kind.output_read, position=999, partition=0, round=0, offset=1), {"nothing_twice", "in_order"}),
        (swap((Kind.output_read, 0), (Kind.output_read, -1)), {"nothing_skipped", "in_order"}),
        (drop(Kind.polled, 0), {"nothing_passed_over"}),
    ],
)
def test_edits_of_a_life_are_named(edit: Edit, found: set[str], tmp_path: Path) -> None:
    recorded("life-4.3.1", tmp_path, quiet_end=False)
    whole = written(tmp_path / "out")
    history = Written(SOURCE_OFFSETS, [row for row in whole.rows if row["partition"] in (-1, 0)])
    assert set(judged(tmp_path / "out", history, tmp_path / "h", edit).violations) == found


def test_a_cluster_of_several_connectors_is_refused(tmp_path: Path) -> None:
    """A history is of one connector, and the config topic has none here."""
    logs = unpacked("life-4.3.1", tmp_path)
    (segment,) = (logs / "node-1" / "connect-configs-0").glob("*.log")
    segment.write_bytes(b"")
    (logs / "node-1" / "replication-offset-checkpoint").unlink()
    with pytest.raises(RecordingError, match="has the connectors none, and a history is of one"):
        record_source_offsets([logs / "node-1"], logs / "seen.jsonl", tmp_path / "out")


def test_the_command(tmp_path: Path) -> None:
    logs = unpacked("own-topic-later-4.3.1", tmp_path)
    words = ["record", "--protocol", "source-offsets", logs / "node-1", "--out", tmp_path / "out"]
    ran = fencepost(*words)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "--seen FILE" in ran.err
    ran = fencepost(*words, "--seen", logs / "seen.jsonl", "--config", "quiet_end=true")
    assert ran.code == 0 and "5 of 20 properties can be decided from it" in ran.out
    assert fencepost("replay", tmp_path / "out").code == 1
