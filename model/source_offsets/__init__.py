"""Exactly-once source tasks (KIP-618): records and source offsets in one transaction, and where a restart resumes.

Read `core` (tasks, their transactions, and the two offsets topics as one view, which is the text), `shipped` (what
Kafka does, and what would mend it), `delivered` (what a source partition looks like to its readers), `reading` (how
offsets are read to the end, which is one step of the core), `migrating` (the earlier text's copy, and downgrades),
`mistakes` (where a condition of the merged view is not kept).
"""
