"""The promises of producer id blocks (KIP-730), held against observable events alone, event by event."""
