"""What scripts of known bugs share: a cluster with a defect or without, and how long things take.

script = played("reload_forgets_rotation", broken=True)  # the defect, in the configuration in which it can show
at_the_last_epoch(script)
"""

from typing import Any

from fencepost.reference_impl.transactions.defects.broken import REGISTRY
from fencepost.reference_impl.transactions.scenarios.script import Script
from fencepost.reference_impl.transactions.system import Parts

CLIENT_TIMEOUT_MS = 31_000  # longer than a client waits for an answer
TXN_TIMEOUT_MS = 75_000  # longer than transaction.timeout.ms and one interval of looking for it
EXPIRY_MS = 8 * 24 * 3600 * 1000  # longer than transactional.id.expiration.ms


def played(defect: str, broken: bool, **config: Any) -> Script:
    """A cluster with the defect of that name, or without."""
    entry = REGISTRY[defect]
    return Script(entry.parts if broken else Parts(), **{**dict(entry.needs), **config})


def at_the_last_epoch(script: Script) -> None:
    """Slot 0 has an open transaction under the largest epoch that is ever handed out."""
    script.start(0)
    for _ in range(script.system.env.config.max_epoch - 1):
        script.begin(0, 0)
        script.commit(0)
    script.begin(0, 0)
