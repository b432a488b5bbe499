"""A directory for what is needed meanwhile, that goes away however the work ends: by itself, by an error, an interrupt,
or because what an interrupt found was busy and the process was ended."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import util
from pathlib import Path
from uuid import uuid4

from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import HistoryError
from fencepost.properties.history.location import Location


@contextmanager
def scratch(spark: SparkSettings | None, place: Location | None = None) -> Iterator[Location]:
    """A new directory in `place`, or where this machine has such.  HistoryError where Spark's workers do not reach
    it."""
    remote = spark is not None and not spark.is_here
    if remote and (place is None or place.is_local):
        raise HistoryError(
            f"histories that are larger than a worker's memory are dealt out into files, and the workers of "
            f"{'' if spark is None else spark.master} run on other machines; give --scratch a URI that all of them "
            "reach (hdfs:, s3:, gs:), or use a local master"
        )
    if place is None or place.is_local:
        folder = tempfile.mkdtemp(prefix="fencepost-", dir=None if place is None else _made(place))
        removed = util.Finalize(None, shutil.rmtree, args=(folder, True), exitpriority=0)
        try:
            yield Location.of(folder)
        finally:
            removed()
        return
    there = place.within(f"fencepost-{uuid4().hex}")
    there.make()
    try:
        yield there
    finally:
        with suppress(OSError):
            there.remove_all()


def _made(place: Location) -> str:
    Path(place.path).mkdir(parents=True, exist_ok=True)
    return place.path
