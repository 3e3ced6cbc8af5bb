"""Who may see and call what.

Primitives: `Rules` decides from a principal, an action and the configured patterns; `Tokens` keeps named bearer tokens
and tells which principal a token belongs to. Decisions are pure; only `Tokens` touches a file. This room does not know
how a request came in, nor what an action does.
"""

from .rules import Rule, Rules, parse_rule
from .tokens import TokenInfo, Tokens

__all__ = ["Rule", "Rules", "TokenInfo", "Tokens", "parse_rule"]
