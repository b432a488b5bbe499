"""This package records what a live source connector of Connect polled, wrote and found, for the promises of its users.

Read `recorder`."""
