"""This package models producer id blocks (KIP-730): which broker may hand out which producer ids."""
