"""Connections to servers: processes, HTTP endpoints, objects in memory; both eras of the protocol.

Primitives: a `wire` carries frames to one server (`StdioWire`, `HttpWire`, `SseWire`, `MemoryWire`); a `Peer` matches
answers to requests over a wire; a `Session` speaks the server's era with callers of any era; a `Connection` is owned by
one task that opens and closes it; a `Place` holds the connections of one configured server and how it stands; the
`Pool` holds all places and is the one thing that other rooms use.

This room does not know what an action is, who may call it, or what a result means: results pass as raw objects.
"""

from .in_memory import Handlers, SdkTarget, Target
from .place import SILENT, Silent
from .pool import Pool

__all__ = ["SILENT", "Handlers", "Pool", "SdkTarget", "Silent", "Target"]
