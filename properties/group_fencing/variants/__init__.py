"""The variants of group fencing (KIP-447) that are judged: what is expected of each, its bounds, and their reasons."""
