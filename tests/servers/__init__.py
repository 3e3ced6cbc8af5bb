"""Small MCP servers that tests put behind AnyAct: `plain` is correct, `raw` sends any byte a test wants."""
