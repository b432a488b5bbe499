"""The modules of this package state what must be true of `SourceTask.commit` and why it is. `core` is about
at-least-once tasks, and `exactly_once` about tasks with transactions."""
