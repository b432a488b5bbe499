"""The desk's parts are Pyodide, Z3 for it, and an editor. They come from npm and PyPI, each of one release, whose hash
is compared, and are stored in the user's cache."""

import base64
import hashlib
import io
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from fencepost.model.language.checks.errors import InputError
from fencepost.proofs.cache_folder import cache_folder

NPM = "https://registry.npmjs.org"
Z3 = "z3_solver-5.3.3.0-py3-none-pyemscripten_2026_0_wasm32.whl"  # the latest that has a wheel for Pyodide
PYPI = "https://files.pythonhosted.org/packages/be/0d/39cfeb73dafdc22000e5e915abe7d1e3f238710a32f0531b23b77f80608a"
SECONDS = 60
"""A registry that sends nothing for so long is not reachable."""


@dataclass(frozen=True)
class Part:
    """A `Part` is one file of a registry. ``hash`` is as in npm's lock files, and ``files`` has the members that are
    taken, with their places in the desk, or is empty where the whole file is, at ``place``."""

    url: str
    hash: str
    files: Mapping[str, str] = field(default_factory=dict)
    place: str = ""


class Unreachable(InputError):
    """This error names the registry and the file that could not be had."""


def _npm(name: str, version: str, hash: str, files: Mapping[str, str]) -> Part:
    """Return a package of npm."""
    return Part(f"{NPM}/{name}/-/{name.rpartition('/')[2]}-{version}.tgz", f"sha256-{hash}", files)


_OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip")
_EDITOR = (  # each is one module, which the page's import map finds by its package's name
    ("@codemirror/state", "6.7.6", "kddazJVc7q+Gr5OWwRzadpT+YiKqyEJ/oDPYnv9ayDk="),
    ("@codemirror/view", "6.43.15", "8NWSFAb4QdIR+giHqr8QYmxHZ2v8Y6Sr7SpNIH4nxaw="),
    ("@codemirror/language", "6.13.1", "5xHsKNoEb2wWPnd8VGbYrIBe6e9fUcUR6HKcZ4m+f4M="),
    ("@codemirror/streamparser", "6.0.0", "tIiMWrQDUOehdH12WUio+kXP0SfEed1M3vgJcEbv4Uo="),
    ("@codemirror/commands", "6.11.1", "9Hf0bYwAJ44bOHuuvVO9ZVb9Xzx0AevioFVDYA/L/w8="),
    ("@codemirror/autocomplete", "6.20.4", "QLllexNyhEJrzYKc3ufceKdIM33pl6ErELXHJfZ6oNA="),
    ("@codemirror/lang-python", "6.2.1", "AioHXs4GbDAV3OT73dTYtvWXZ551bVDml+wWzT5bWco="),
    ("@lezer/common", "1.5.5", "7ZPO42QDEk9R6uY4uKAy1mlJFMGXBN52ENt/KpRByWM="),
    ("@lezer/lr", "1.4.12", "ZDgu5/FEIh5MZV8gNDk8a+nOyvXqLsHB7euZQk3vsnI="),
    ("@lezer/highlight", "1.2.5", "40nuwf9DgkOcHmKGrpN+AgOoNJxRkuLhM4YzkXdax/8="),
    ("@lezer/python", "1.1.19", "DgCjJxc2YJnAGzihnOtzMVzR3ZszXZi0n+pQq3xcKpg="),
    ("style-mod", "4.1.5", "xKRIRCE6FB2lXFGi+B1wGs25lERlMotKKmuWJsbZ/Dk="),
    ("w3c-keyname", "2.2.8", "BdIUhAJtHy3YQshDGB45HmbWDx1d/yktViw/QDAtqzY="),
    ("crelt", "1.0.7", "NUIpnAJ4/cJqzrKxPTG/+8uJ1zZ3BrvEVxMOP9EDwD4="),
    ("@marijn/find-cluster-break", "1.0.4", "XRK3cLZNRmMshPzRjh1MCfGV7Q9dvHH5SkHwrzM+rq4="),
)  # fmt: skip
_ELSEWHERE = {
    "style-mod": "src/style-mod.js", "w3c-keyname": "index.js", "crelt": "index.js",
    "@marijn/find-cluster-break": "src/index.js",
}  # fmt: skip
"""These packages have their module at this place, all others at ``dist/index.js``."""


def place_in_editor(name: str) -> str:
    return f"editor/{name.replace('/', '-').removeprefix('@')}.js"


PARTS = (
    _npm(
        "pyodide", "314.0.7", "ZreUnloMuiJQtYbX42i/EvtIKAB0jRgsRhglS2hf+qA=",
        {f"package/{name}": f"pyodide/{name}" for name in _OF_PYODIDE},
    ),
    Part(f"{PYPI}/{Z3}", "sha256-k4HZUWNF9TshqPTfJDxdYI6WJarGWMP7OXVFe60mD2A=", place=f"pyodide/{Z3}"),
    *(
        _npm(name, version, hash, {f"package/{_ELSEWHERE.get(name, 'dist/index.js')}": place_in_editor(name)})
        for name, version, hash in _EDITOR
    ),
)  # fmt: skip
IMPORTS = {name: f"./{place_in_editor(name)}" for name, _, _ in _EDITOR}


def files_of(part: Part, got: Callable[[str], bytes] | None = None) -> dict[str, bytes]:
    """Return the files of a part by their places in the desk. ``got`` takes the place of the network. Errors:
    Unreachable; InputError where a registry has something else than what the hash is of."""
    content = _content(part, got or _got)
    if not part.files:
        return {part.place: content}
    found = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member, place in part.files.items():
            file = archive.extractfile(member)
            assert file is not None, member  # the hash says which archive this is
            found[place] = file.read()
    return found


def _content(part: Part, got: Callable[[str], bytes]) -> bytes:
    stored = cache_folder() / "desk" / part.url.rpartition("/")[2]
    with suppress(OSError):
        content = stored.read_bytes()
        if _is(content, part.hash):
            return content
    content = got(part.url)
    if not _is(content, part.hash):
        raise InputError(
            f"{part.url} is not what it was ({part.hash[:20]}… is expected); a proxy or the registry changes files: "
            "use another network"
        )
    with suppress(OSError):
        stored.parent.mkdir(parents=True, exist_ok=True)
        stored.write_bytes(content)
    return content


def _is(content: bytes, hash: str) -> bool:
    kind, _, wanted = hash.partition("-")
    return base64.b64encode(hashlib.new(kind, content).digest()).decode() == wanted


def _got(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=SECONDS) as answer:
            content: bytes = answer.read()
            return content
    except (OSError, urllib.error.URLError) as error:
        why = getattr(error, "reason", None) or error
        raise Unreachable(
            f"{url} cannot be had: {why}; the desk's parts come from npm and PyPI, so try again with a network, "
            "or with HTTPS_PROXY"
        ) from None
