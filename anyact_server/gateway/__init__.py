"""What a client sees: the MCP front of both eras, its tools, and the transports it is reached by.

Primitives: `Front` answers the eight tools over the Protocols of the rooms behind; `FrontServer` is the MCP server
around it; `Parts` is what stands behind and `Ready` how it is waited for; `serve_stdio` serves any MCP server to one
client over a pipe; `http_app` and `serve_http` serve many over the web, where `McpEndpoint` is one MCP server. This
room does not know how servers are reached, how actions are found, nor how results are grounded: it asks the parts, and
turns their values into what a client reads.
"""

from .callers import ClientCaller
from .front import Front
from .guard import Gate, Guard, listen_check, wide
from .home_socket import HomeSocket
from .http import Identified, McpEndpoint, both, http_app, listening, serve_http
from .parts import Parts, Ready, Runs, ready
from .relay import RelayServer
from .remembered import Remembered
from .rest import rest_routes
from .server import FrontServer
from .stdio import serve_stdio
from .transparent import TransparentEndpoints

__all__ = [
    "ClientCaller",
    "Front",
    "FrontServer",
    "Gate",
    "Guard",
    "HomeSocket",
    "Identified",
    "McpEndpoint",
    "Parts",
    "Ready",
    "RelayServer",
    "Remembered",
    "Runs",
    "TransparentEndpoints",
    "both",
    "http_app",
    "listen_check",
    "listening",
    "ready",
    "rest_routes",
    "serve_http",
    "serve_stdio",
    "wide",
]
