"""The runtime of a source task: what it tracks, what it writes, and the threads that do it."""
