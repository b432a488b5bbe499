"""This module locates histories in a local directory, or at a URI that pyarrow can open.

Such URIs are `hdfs://`, `s3://`, `gs://`, with options for the store behind a `?`, such as `region` and
`endpoint_override`. Spark's workers on other machines can only reach the latter, so every read and write of histories
goes through here.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

_KEYS = re.compile(r"(?<=://)[^/@]*@")


@lru_cache(maxsize=64)
def _opened(uri: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem  # takes long to import, and who drives systems has no files

    filesystem, path = FileSystem.from_uri(uri)
    return filesystem, path


def _below(uri: str, *names: str) -> str:
    """Return the URI of something in a directory; options for the store (``?region=…``) stand at its end."""
    path, mark, asked = uri.partition("?")
    return "/".join((path.rstrip("/"), *names)) + mark + asked


@dataclass(frozen=True)
class Location:
    """A `Location` is a directory named by a path or a URI; it can be pickled, since it is nothing but its name."""

    uri: str

    @classmethod
    def of(cls, place: "str | Path | Location") -> "Location":
        """Return `place` as a location; local paths become absolute, so that workers with another directory agree."""
        if isinstance(place, Location):
            return place
        text = str(place)
        scheme = urlsplit(text).scheme
        return cls(_below(text) if scheme else str(Path(text).absolute()))

    @property
    def is_local(self) -> bool:
        """Return whether only this machine can reach the directory: a plain path, or `file:`."""
        return urlsplit(self.uri).scheme in ("", "file")

    @property
    def _opened(self) -> tuple[Any, str]:
        return _opened(self.uri)

    def __str__(self) -> str:
        """Return the name for reports, without keys to the store, and how to reach that."""
        path = self.uri.partition("?")[0] if urlsplit(self.uri).scheme else self.uri
        return _KEYS.sub("", path)

    def __truediv__(self, name: str) -> str:
        return f"{self}/{name}"

    def within(self, name: str) -> "Location":
        return Location(_below(self.uri, name) if urlsplit(self.uri).scheme else f"{self.uri}/{name}")

    @property
    def path(self) -> str:
        return str(self._opened[1])

    @property
    def finished(self) -> bool:
        filesystem, path = self._opened
        return bool(filesystem.get_file_info(f"{path}/manifest.json").is_file)

    def make(self) -> bool:
        """Create the directory, and those above it; return whether it was not there before."""
        from pyarrow.fs import FileType

        filesystem, path = self._opened
        there = filesystem.get_file_info(path).type != FileType.NotFound
        filesystem.create_dir(path, recursive=True)
        return not there

    def remove(self, name: str) -> None:
        filesystem, path = self._opened
        filesystem.delete_file(f"{path}/{name}")

    def remove_empty(self) -> None:
        """Delete the directory if it is empty."""
        if self.is_local:
            with suppress(OSError):
                os.rmdir(self.path)

    def names(self) -> list[str]:
        """Return the names of the files in the directory, sorted; empty if there is no such directory."""
        from pyarrow.fs import FileSelector

        filesystem, path = self._opened
        found = filesystem.get_file_info(FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in found if info.is_file)

    def refusal(self, name: str) -> str:
        """Return why a file is not to be opened, though it may be there; empty if nothing is wrong with it. It may be a
        pipe, at which the reader would wait, or a link that leads out of the directory."""
        if not self.is_local:
            return ""
        folder = Path(self.path)
        place = folder / name
        if not os.path.lexists(place):
            return ""
        if place.is_symlink() and not place.resolve().is_relative_to(folder.resolve()):
            return "a link that leads out of the directory, which alone is read; put the file itself there"
        if place.exists() and not place.is_file():
            return "a pipe, a device or a directory, and no file"
        return ""

    def folder_refusal(self, name: str) -> str:
        """Return why a directory in it is not to be examined; empty if nothing is wrong with it, or it is not there."""
        if not self.is_local:
            return ""
        folder = Path(self.path)
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            return "a link that leads out of the directory, which alone is read; put the histories themselves there"
        return ""

    def open_input(self, name: str) -> Any:
        """Return a random-access Arrow file. Raises FileNotFoundError."""
        filesystem, path = self._opened
        return filesystem.open_input_file(f"{path}/{name}")

    def open_output(self, name: str) -> Any:
        filesystem, path = self._opened
        return filesystem.open_output_stream(f"{path}/{name}")

    def move(self, name: str, to: str) -> None:
        """Rename a file within the directory, replacing any file of that name."""
        filesystem, path = self._opened
        filesystem.move(f"{path}/{name}", f"{path}/{to}")

    def read_text(self, name: str) -> str | None:
        """Return the file's text, or None if there is none."""
        try:
            with self.open_input(name) as stream:
                return bytes(stream.read()).decode()
        except FileNotFoundError:
            return None

    def replace_text(self, name: str, text: str) -> None:
        """Write the file under a name of its own, then rename it: readers get the old text or the new, never a half."""
        attempt = f"{name}.{uuid4().hex}"
        with self.open_output(attempt) as stream:
            stream.write(text.encode())
        self.move(attempt, name)
