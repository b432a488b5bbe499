"""The modules of this package translate a group's events to model steps (`conforming`) and back (`emitted`)."""
