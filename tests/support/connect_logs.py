"""Stored logs of live Connect clusters, and copies of the recordings that ship, with edits."""

import tarfile
from pathlib import Path

from fencepost.proofs.scale.replay import ReplayReport, replay
from fencepost.properties.history import HistoryDirectory, Manifest, read_piece, write_histories
from fencepost.properties.history.location import Location
from fencepost.properties.history.vocabulary import VOCABULARIES
from fencepost.properties.seeded_violations import Edit, Seeded, Written, edited

STORED = Path(__file__).parent / "data" / "connect"
NAMES = sorted(file.name.removesuffix(".tar.xz") for file in STORED.glob("*.tar.xz"))


def unpacked(name: str, folder: Path) -> Path:
    """The folder, with the brokers' log directories (node-1, …), what was seen, and the workers' logs (w0.log, …)."""
    with tarfile.open(STORED / f"{name}.tar.xz") as stored:
        stored.extractall(folder, filter="data")
    return folder


def written(place: Path) -> Written:
    """The one history of a recording."""
    directory = HistoryDirectory.open(place)
    vocabulary = VOCABULARIES[directory.manifest.protocol]
    columns, _ = read_piece(directory.pieces[0], vocabulary, vocabulary.schema.names)
    values = {column: columns[column].tolist() for column in ("kind", *vocabulary.names)}
    return Written(vocabulary, [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)])


def judged(place: Path, history: Written, out: Path, *edits: Edit) -> ReplayReport:
    """What is found in a copy of a recording that has this history in its place, after some edits."""
    manifest = HistoryDirectory.open(place).manifest
    described = {name: getattr(manifest, name) for name in ("variant", "source", "ordered", "observable", "config")}
    columns = (edited(history, Seeded(edits, {})) if edits else history).columns()
    write_histories(out, [columns], history.vocabulary, **described)
    return replay(out, cores=1)


def is_shipped(place: Path, out: Path) -> bool:
    """Whether a recording is the one that ships, byte for byte."""
    shipped, made = Manifest.read(Location.of(place)), Manifest.read(Location.of(out))
    parts = [(folder / "part-00000.parquet").read_bytes() for folder in (place, out)]
    return parts[0] == parts[1] and all(
        getattr(shipped, name) == getattr(made, name) for name in ("config", "variant", "observable", "ordered")
    )
