"""The command line: the only room that prints.

Primitives: `main` is the entry point; each file beside it holds one group of commands and is loaded when one of its
commands is used, so that `anyact --help` and `anyact serve` start fast. Results go to stdout, everything else to
stderr; with `--json` stdout holds exactly one JSON document, also when the command fails. This room does not know how
anything is done: it reads flags, calls `app`, and prints.
"""

from .main import main

__all__ = ["main"]
