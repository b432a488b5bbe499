"""Where source offsets are kept: a topic that is read to its end, two of them as one, and what a task has yet to store.

In the order in which to read it: `topic_reader.py`, `offset_store.py`, `offset_writer.py`.
"""
