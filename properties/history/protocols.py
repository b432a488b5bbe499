"""Every protocol whose histories fencepost can read, by name. A new protocol adds its vocabulary here."""

from types import MappingProxyType

from fencepost.properties.history.id_block_events import ID_BLOCKS
from fencepost.properties.history.task_count_events import TASK_COUNTS
from fencepost.properties.history.transaction_events import TRANSACTIONS

VOCABULARIES = MappingProxyType(
    {vocabulary.protocol: vocabulary for vocabulary in (ID_BLOCKS, TRANSACTIONS, TASK_COUNTS)}
)
