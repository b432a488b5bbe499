"""This module writes the desk's folder: parts of registries, the package for the page's Python, and the page.

Nothing in the folder depends on when or where it was made, so that its digest, in the page's cache, names its content.
"""

import base64
import hashlib
import inspect
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fencepost
from fencepost.model.rules import RULES
from fencepost.proofs.desk.inside import NEED_NUMPY
from fencepost.proofs.desk.parts import IMPORTS, PARTS, Z3, files_of
from fencepost.proofs.desk.questions import QUESTIONS
from fencepost.proofs.readings.words import name_in_words
from fencepost.properties.catalogue import Variant, protocols
from fencepost.properties.registry import BUILT_IN, PROTOCOLS

OWN = ("desk.html", "desk.css", "desk.js", "editor.js", "worker.js", "offline.js")
LIBRARIES = ("click", "rich", "junitparser")
"""The words of ``prove`` need these libraries, which are of Python alone: their installed files are taken."""
ROOT = Path(fencepost.__file__).parent
FOLDERS = ("model", "properties", "proofs", "reference_impl")
NOT_THERE = ("proofs/scale", "proofs/recording", "proofs/doctor", "proofs/testing", "reference_impl/live")
"""The page's Python has no Spark, Kafka or Hypothesis, which these folders need."""
WHEN = (1980, 1, 1, 0, 0, 0)
"""Files in the archive have this time, the earliest that the format has."""
PAGE = "index.html"


def build(folder: Path, progress: Callable[[int], None] = lambda _: None) -> int:
    """Write the desk into a folder, and return its size in bytes. ``progress`` is called for each part. Errors:
    InputError where a registry is not reachable, or has another file than expected."""
    made: dict[str, bytes] = {}
    for part in PARTS:
        made |= files_of(part)
        progress(1)
    made |= own_files()
    digest = hashlib.sha256()
    for place, content in sorted(made.items()):
        digest.update(f"{place}\0{len(content)}\0".encode() + content)
    names = json.dumps(["./", *sorted(set(made) - {PAGE, "offline.js"})])
    for name, text in (("DIGEST", digest.hexdigest()[:16]), ("FILES", names)):
        made["offline.js"] = made["offline.js"].replace(b"__%s__" % name.encode(), text.encode())
    for place, content in made.items():
        file = folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return sum(map(len, made.values()))


def own_files() -> dict[str, bytes]:
    """Return what is of fencepost: the page, the package for its Python, the catalogue, and the rules' texts."""
    own = {name: files(__package__).joinpath(name).read_bytes() for name in OWN}
    own["page.css"] = files("fencepost.proofs.pages").joinpath("page.css").read_bytes()
    own["view.js"] = files("fencepost.proofs.pages").joinpath("view.js").read_bytes()
    imports = json.dumps({"imports": IMPORTS})
    page = own.pop("desk.html").decode()
    hashed = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    own[PAGE] = page.replace("__IMPORTS__", imports).replace("__HASH__", f"sha256-{hashed}").encode()
    listed, texts = catalogue()
    own["catalogue.json"] = json.dumps(listed, separators=(",", ":")).encode()
    own["python.zip"] = _archive()
    return own | {f"rules/{path}.txt": text.encode() for path, text in texts.items()}


def catalogue() -> tuple[dict[str, Any], dict[str, str]]:
    """Return what can be chosen, as JSON, and the text of each file of rules."""
    texts: dict[str, str] = {}
    left_out = NEED_NUMPY + tuple(PROTOCOLS.keys() - BUILT_IN)
    every = [entry for entry in protocols().values() if entry.name not in left_out]
    listed = [
        {"name": e.name, "says": e.says, "variants": [_variant(v, texts) for v in e.variants]} for e in every
    ]  # fmt: skip
    questions = [asdict(q) | {"rule_says": RULES[q.rule].says} for q in QUESTIONS]
    return {"protocols": listed, "questions": questions, "z3": Z3}, texts


def _variant(variant: Variant, texts: dict[str, str]) -> dict[str, Any]:
    named = list(dict.fromkeys(_files(variant)))
    texts |= {path: (ROOT / path).read_text(encoding="utf-8") for path in named if path not in texts}
    asked = [
        {"id": name, "name": name_in_words(name), "kind": p.kind, "role": p.role, "says": " ".join(p.doc.split())}
        for name, p in variant.asked.items() if p.kind in ("always", "step", "sometimes") and p.role != "lemma"
    ]  # fmt: skip
    return {
        "name": variant.name, "says": variant.says, "rule": variant.rule or "", "main": variant.main, "files": named,
        "class": variant.properties.protocol.__name__, "asked": asked,
    }  # fmt: skip


def _files(variant: Variant) -> Iterator[str]:
    """Yield the files of a variant's rules, its own first, and then those of what must be true."""
    for cls in (*variant.properties.protocol.__mro__, *variant.properties.__mro__):
        module = cls.__module__.split(".")
        if module[0] == "fencepost" and module[2] != "language":
            file = Path(inspect.getfile(cls)).resolve()
            folder = (ROOT / module[1]).resolve()
            yield f"{module[1]}/{file.relative_to(folder).as_posix()}"


def _archive() -> bytes:
    """Return the package and what it needs as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for place, content in sorted(_modules()):
            archive.writestr(zipfile.ZipInfo(place, WHEN), content, zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def _modules() -> Iterator[tuple[str, bytes]]:
    yield from ((f"fencepost/{file.name}", file.read_bytes()) for file in ROOT.glob("*.py"))
    for folder in FOLDERS:
        root = (ROOT / folder).resolve()
        for file in root.rglob("*.py"):
            place = f"{folder}/{file.relative_to(root).as_posix()}"
            if not place.startswith(NOT_THERE):
                yield f"fencepost/{place}", file.read_bytes()
    for library in LIBRARIES:
        spec = find_spec(library)
        assert spec is not None and spec.submodule_search_locations, library  # fencepost depends on it
        root = Path(next(iter(spec.submodule_search_locations)))
        yield from ((f"{library}/{f.relative_to(root).as_posix()}", f.read_bytes()) for f in root.rglob("*.py"))
        known = f"Metadata-Version: 2.1\nName: {library}\nVersion: {version(library)}\n"  # which some of them read
        yield f"{library}-{version(library)}.dist-info/METADATA", known.encode()
