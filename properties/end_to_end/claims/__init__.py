"""These claims state what must be true of the whole system and why: `abstract` proves it from interfaces, and the other
modules over detailed parts."""
