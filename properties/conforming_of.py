"""What each protocol brings to be held against its model, by name: a new protocol adds its own here."""

from collections.abc import Mapping

from fencepost.properties.conforming import Conforming
from fencepost.properties.id_blocks.conforming import CONFORMING as ID_BLOCKS
from fencepost.properties.transactions.conforming import CONFORMING as TRANSACTIONS

CONFORMING: Mapping[str, Conforming] = {"id-blocks": ID_BLOCKS, "transactions": TRANSACTIONS}
