"""The modules of this package drive implementations: `steps`, then the runs, and `agreement` combines them."""
