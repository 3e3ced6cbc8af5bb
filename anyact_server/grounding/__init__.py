"""Raw content to observation.

Primitives: `Grounder` judges a result (`judge`), turns it into an observation within a budget (`observe`), and reads
back what was not shown (`read`, `value`); `ArtifactStore` keeps originals on disk, bound to a principal, bounded and
expiring (`open_store` makes the one of a home folder); `render` gives the lines that a model reads; `estimate` counts
tokens; `unwrapped` takes a value out of its wrapping; `read_source` reads any file as the result that it would be.

The room does not know how a result was obtained, which actions exist, or what became of earlier calls: it is given
values and gives values. Everything but the store is pure.
"""

from .artifacts import ArtifactStore, is_handle
from .dialects import Dialect
from .grounder import Grounder, open_store
from .parts import unwrapped
from .render import render
from .sources import read_source
from .tokens import estimate

__all__ = [
    "ArtifactStore",
    "Dialect",
    "Grounder",
    "estimate",
    "is_handle",
    "open_store",
    "read_source",
    "render",
    "unwrapped",
]
