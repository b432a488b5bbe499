"""This module estimates what simulated histories take, in time, disk and memory, from a few that it simulates, and
refuses those that would not finish on this machine."""

import gc
import os
import re
import shutil
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from fencepost.proofs.scale.jobs import cores_here
from fencepost.proofs.scale.units import SparkSettings
from fencepost.properties.history import HistoryError
from fencepost.properties.history.properties_of import HistoryProperties
from fencepost.properties.history.vocabulary import COMMON_COLUMNS

LONGEST = 30 * 86400
"""Work that would take more seconds than this, on all cores together, is refused."""
LONGEST_ONE = 86400
"""A history that would take more seconds than this is refused."""
SMALL, LARGER = 400, 800
"""These sizes replace larger ones in a config, to find out what the larger ones would take."""
SURELY = 8
"""Sizes this many times as large are tried as well before anything is refused, because a history of few ids ends
early."""
BYTES = 8
"""An event takes about this many bytes on the disk, compressed: measured between 5 and 11."""
TRIES, QUICK = 3, 0.1
"""A size is tried this often, but not again once the tries took this many seconds."""
GROWS = 1.3
"""If doubling a size costs more than this factor, the cost is assumed to go on growing so."""
UNCOUNTABLE = 10**100
"""Larger numbers are replaced by this one, whose square is still a floating-point number."""
BYTES_OF_AN_EVENT = 400
"""An event takes this many bytes in memory while a piece is judged, in addition to its columns."""
MOST_OF_A_CLUSTER = 8_000_000_000
"""One cluster may take this many bytes where the memory of the machine is unknown."""


def require_affordable(
    once: Callable[[Mapping[str, Any]], int], config: Mapping[str, Any], histories: int, cores: int, place: str | None
) -> None:
    """Raise `HistoryError` for histories that this machine cannot generate, before any is begun. ``once`` simulates a
    history with a config, and returns the number of its events; ``place`` is the target folder, if it is on this
    machine."""
    sizes = {name: size for name, size in config.items() if type(size) is int and size > LARGER and name != "seed"}
    small = {**config, **dict.fromkeys(sizes, LARGER)}
    if histories * LARGER < 10_000_000 and not sizes:
        return
    if _tried(once, small) is None:
        return  # the simulation itself will report the error
    for name, size in sizes.items():
        _require_size(once, small, name, size, cores)
    began = time.perf_counter()
    events = once(small)
    seconds = time.perf_counter() - began
    for name, size in sizes.items():
        if name == "events":
            events, seconds = events * size // LARGER, seconds * min(size, UNCOUNTABLE) / LARGER
    require_time_and_room(histories, events, seconds, cores, place)


def require_time_and_room(histories: int, events: int, seconds: float, cores: int, place: str | None) -> None:
    """Raise `HistoryError` if histories with so many events and seconds each take too long, or more than is free on the
    disk."""
    need = f"{histories:,} histories of about {events:,} events"
    histories, events = min(histories, UNCOUNTABLE), min(events, UNCOUNTABLE)
    took = seconds * histories / cores
    if took > LONGEST:
        raise HistoryError(f"{need} would take about {_span(took)} on {cores} cores; ask for fewer, or name --master")
    if place is not None:
        room, size = shutil.disk_usage(_there(place)).free, BYTES * events * histories
        if size > room:
            raise HistoryError(f"{need} would take about {size / 1e9:,.0f} GB, and {room / 1e9:,.0f} GB are free there")


def _require_size(
    once: Callable[[Mapping[str, Any]], int], config: Mapping[str, Any], name: str, size: int, cores: int
) -> None:
    """Raise `HistoryError` if one size of a cluster needs more memory or time than there is."""
    for times in (1, SURELY):
        tried = [_tried(once, {**config, name: min(size, times * each)}) for each in (SMALL, LARGER)]
        if None in tried:
            return
        (less_time, less_memory), (more_time, more_memory) = (each for each in tried if each is not None)
        of_one = min(size, UNCOUNTABLE) / (LARGER - SMALL) / times
        took, takes = (more_time - less_time) * of_one, (more_memory - less_memory) * of_one
        parts, room = [], _memory() / 2 / cores
        if more_time > GROWS * less_time and took > LONGEST_ONE:
            parts.append(f"about {_span(took)}")
        if more_memory > GROWS * less_memory and takes > room:
            parts.append(
                f"about {takes / 1e9:,.0f} GB of memory on each core, where {room / 1e9:,.0f} GB are to be had"
            )
        if not parts:
            return
    raise HistoryError(f"one history with {name} {size:,} would take {' and '.join(parts)}; choose a smaller number")


def _tried(once: Callable[[Mapping[str, Any]], int], config: Mapping[str, Any]) -> tuple[float, int] | None:
    """Return the seconds and bytes that one history takes: the least of a few tries, because other work of the process
    only adds."""
    found: list[tuple[float, int]] = []
    gc.freeze()  # the collector skips objects that existed before
    try:
        while len(found) < TRIES and sum(seconds for seconds, _ in found) < QUICK:
            gc.collect()
            tracemalloc.start()
            began = time.perf_counter()
            try:
                once(config)
                found.append((time.perf_counter() - began, tracemalloc.get_traced_memory()[1]))
            except Exception:
                return None
            finally:
                tracemalloc.stop()
    finally:
        gc.unfreeze()
    return min(seconds for seconds, _ in found), min(memory for _, memory in found)


def events_held(properties: HistoryProperties, spark: SparkSettings | None, cores: int | None) -> int:
    """Return how many events a worker can hold while all properties are judged. Half of the memory of this machine is
    for the workers, one per core. Other machines are assumed to have as much memory."""
    local = re.fullmatch(r"local\[(\d+)\]", spark.master) if spark is not None else None
    workers = int(local[1]) if local else (cores or cores_here())
    widths = sum(np.dtype(str(column.type)).itemsize for column in (*COMMON_COLUMNS, *properties.vocabulary.columns))
    return max(1, int(_memory() / 2 / workers / (widths + BYTES_OF_AN_EVENT)))


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return MOST_OF_A_CLUSTER


def _there(place: str) -> Path:
    path = Path(place)
    while not path.is_dir():
        path = path.parent
    return path


def _span(seconds: float) -> str:
    if seconds < 2 * 86400:
        return f"{seconds / 3600:,.0f} hours"
    days = seconds / 86400
    return f"{days:,.0f} days" if days < 1000 else f"{days / 365:,.0f} years"
