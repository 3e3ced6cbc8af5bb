"""How good the product is, measured by itself on any labelled file.

The primitives: a *request* with what should come of it, a *report* of every request scored, and the difference between
two reports; means come with 95 % intervals.

This room does not know how the files were made, and it prints nothing.
"""

from . import results, retrieval, screens

__all__ = ["results", "retrieval", "screens"]
