"""Finds the actions that fit an intent.

The primitives: a *document* is what is indexed of an action; a *segment* holds documents as postings (keyword search,
`sparse`), vectors (search by meaning, `dense`) and spellings (`names`), and never changes; a *state* is the segments of
one moment; an *encoder* turns texts into vectors, a *guard* keeps its failures away from searches; *fusion* makes one
order of several; *ranking* turns candidates into hits; the *index* puts a new state in place whenever the catalog
changes, and *folders* write a state where another machine can use it.

This room does not know where actions come from, who asks, how a call ends, or what a client is shown: actions,
estimates and what may be seen are given to it.
"""

from .encoder import OnnxEncoder, SentenceTransformersEncoder, load
from .endpoint import EndpointEncoder
from .folders import Info, actions, info, verify
from .guard import Guard
from .index import Index
from .vectors import VectorStore

__all__ = [
    "EndpointEncoder",
    "Guard",
    "Index",
    "Info",
    "OnnxEncoder",
    "SentenceTransformersEncoder",
    "VectorStore",
    "actions",
    "info",
    "load",
    "verify",
]
