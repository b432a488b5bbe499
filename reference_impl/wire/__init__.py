"""Real brokers behind the plug: the reference implementation's clients, and real ones, over TCP."""
