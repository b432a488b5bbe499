"""This package maps the events of transactions to steps of the model: `kinds` first, then `driven` for driven runs and
simulated histories, and `wire` for brokers over the wire and recordings."""
