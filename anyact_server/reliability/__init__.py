"""How far to trust.

Primitives: a `Ledger` takes outcomes and gives estimates and admissions; a `Belief` is what is remembered of one action
and a `Breaker` what of one server, both frozen values changed by pure functions (`estimates`, `breaker`); a `Sketch`
holds latencies. This room does not know what an action does, how a result was judged, nor how a search is ranked: it is
told outcomes and asked for estimates, beside the flow and never in it.
"""

from .breaker import Breaker
from .estimates import Belief
from .ledger import Ledger
from .sketch import Sketch

__all__ = ["Belief", "Breaker", "Ledger", "Sketch"]
