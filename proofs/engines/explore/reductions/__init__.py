"""States and steps that a search may leave out: `symmetry` keeps one of several states that differ in names alone;
`partial_order` leaves out steps that could as well be taken later, by what `interference` says of them."""
