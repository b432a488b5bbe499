"""The modules of this package translate the events of a group to steps of its models (`conforming`), and back
(`emitted`)."""
