"""AnyAct: one MCP server in front of everything an agent can do."""

__all__ = ["__version__"]

__version__ = "0.1.0"
