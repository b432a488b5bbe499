"""This module names the module of a variant, and writes several files, either all or none."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.readings.tla.module import MARK, Exported, Source, exported
from fencepost.properties.entries import ProtocolEntry, Variant


class ExportError(InputError):
    """This error is about files that cannot be written. The message names them, the reason, and what to do."""


def stem_of(protocol: str, variant: str) -> str:
    """Return the name of a variant's module, such as ``IdBlocksKraft`` for id-blocks/kraft. A variant whose name ends
    that of its protocol adds nothing, so that kip618-yardstick/yardstick is ``Kip618Yardstick``."""
    of_protocol, of_variant = _joined(protocol), _joined(variant)
    return of_protocol if of_protocol.endswith(of_variant) else of_protocol + of_variant


def _joined(name: str) -> str:
    return "".join(word[0].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name) if word)


def source_of(
    entry: ProtocolEntry, variant: Variant, bounds: Mapping[str, int], *, symmetry: bool = False
) -> Source:  # fmt: skip
    """Return what is exported of a variant of the catalogue."""
    stem, title, stated = stem_of(entry.name, variant.name), f"{entry.name}/{variant.name}", variant.properties
    return Source(
        stem, title, variant.says, variant.spec, variant.asked, bounds, entry.reasons, stated.protocol, stated, symmetry
    )


def of_variant(
    entry: ProtocolEntry, variant: Variant, bounds: Mapping[str, int], *, symmetry: bool = False
) -> Exported:  # fmt: skip
    """Return the export of a variant within bounds. Errors: BoundsError where the explorer or TLA+ refuses them."""
    return exported(source_of(entry, variant, bounds, symmetry=symmetry))


def files(made: Iterable[Exported]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in made:
        found |= {f"{each.stem}.tla": each.module, f"{each.stem}.cfg": each.configuration}
        found |= {f"{each.stem}Liveness.tla": each.liveness} if each.liveness else {}
    return found


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Write all files of a directory, which is created if it is missing, or none of them where one cannot be written.
    Errors: ExportError for an existing file that was not exported, and OSError where there is no room."""
    for name in texts:
        _require_ours(folder / name)
    new = not folder.exists()
    if new:
        folder.mkdir()
    drafts = {folder / f".{name}.{os.getpid()}": folder / name for name in texts}
    try:
        for draft, text in zip(drafts, texts.values(), strict=True):
            draft.write_text(text, encoding="ascii")
        for draft, file in drafts.items():
            draft.replace(file)
    except BaseException:
        for draft in drafts:
            draft.unlink(missing_ok=True)
        if new and not any(folder.iterdir()):
            folder.rmdir()
        raise


def _require_ours(file: Path) -> None:
    if not file.exists():
        return
    if not file.is_file() or MARK not in file.read_text(encoding="utf-8", errors="replace"):
        raise ExportError(f"{file} is there and was not exported; it is left as it is, name another directory")
