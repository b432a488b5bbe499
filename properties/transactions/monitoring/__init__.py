"""The promises of transactions, held against observable events alone, event by event."""
