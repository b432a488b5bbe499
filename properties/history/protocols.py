"""Every protocol whose histories fencepost can read, by name. A new protocol adds its vocabulary here."""

from types import MappingProxyType

from fencepost.properties.id_blocks.history.events import ID_BLOCKS
from fencepost.properties.task_counts.history.events import TASK_COUNTS
from fencepost.properties.transactions.history.events import TRANSACTIONS

VOCABULARIES = MappingProxyType(
    {vocabulary.protocol: vocabulary for vocabulary in (ID_BLOCKS, TRANSACTIONS, TASK_COUNTS)}
)
