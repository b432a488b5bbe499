"""How the events of a group become steps of its models (`conforming`), and the way back (`showing`)."""
