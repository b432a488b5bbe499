"""This package states what must hold of the events of transactions: `view` first, then the properties; `late` decides
which violations a late copy explains."""
