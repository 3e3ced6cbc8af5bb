"""From choice to result.

Primitives: a `Dispatcher` is the action space (search, describe, call) over the other rooms; `Runs` does many calls
with dependencies; `Silent` is a caller with nobody behind it; `Acted` is how a call ended, with its raw result.
Decisions are pure and stand in files of their own: what arguments are taken (`arguments`), what references stand for
(`references`), what may start next (`plan`), what could do instead (`alternatives`),
which results are large (`weight`). This room does not know how a
client is connected, how a server is reached, nor how a result is rendered: it acts through the Protocols of
`interfaces`.
"""

from .callers import Attached, Silent
from .calling import Acted
from .dispatcher import Dispatcher, Permissive
from .runs import Runs

__all__ = ["Acted", "Attached", "Dispatcher", "Permissive", "Runs", "Silent"]
