"""The language in which the protocols are written."""
