"""Records what a real Apache Kafka did as a history: its metadata log, and what its clients were given."""
