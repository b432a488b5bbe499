"""Every corner, by importing the files that enter them."""

from __future__ import annotations

import corners_ending
import corners_groups
import corners_init
import corners_last_epochs
import corners_offsets
import corners_partition
import corners_releases
import corners_restarts
import corners_two_phase
import corners_verification
import corners_versions
from corner import CORNERS

__all__ = ["CORNERS", "FILES"]

FILES = (
    corners_init, corners_last_epochs, corners_ending, corners_partition, corners_verification, corners_offsets,
    corners_groups, corners_restarts, corners_versions, corners_two_phase, corners_releases,
)  # fmt: skip
