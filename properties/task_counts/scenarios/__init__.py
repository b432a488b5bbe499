"""How implementations are driven: `steps`, then the runs themselves, and `agreement`, in which all of it comes
together.
"""
