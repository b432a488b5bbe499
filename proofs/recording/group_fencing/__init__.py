"""This package records a consumer group that copies its input: what its members and an auditor saw, and the group's
offsets.

Read `recorder`, `member_events`, `offsets_log`, `ordering`."""
