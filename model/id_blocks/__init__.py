"""Producer id blocks (KIP-730): who may hand out which producer ids."""
