"""The index: finds actions for intents, and keeps itself up to date with the catalog."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from anyact_server.interfaces import Encoder
from anyact_server.telemetry import logger
from anyact_server.types import EMPTY, Action, CatalogChange, Estimate, Query, SearchAnswer

from . import folders, ranking, segments
from .documents import action_key, document, encoded_text
from .encoder import SentenceTransformersEncoder
from .guard import QUERY_S, Guard
from .segments import Segment
from .state import State
from .vectors import VectorStore, text_key
from .words import clauses

Floats = NDArray[np.float32]
Progress = Callable[[int, int], None]

SEGMENTS = 8
"""Segments up to which a change just adds one; beyond, the small ones are joined."""
DEAD_SHARE = 0.3
"""Share of dead rows, or of rows outside the largest segment, from which everything is indexed anew."""
LONGEST_INTENT = 2000
"""Characters of an intent that are looked at."""
MOST_INTENTS = 20
"""Intents of one search."""
STEP = 64
"""Texts encoded between two looks at whether to stop."""
FIRST_PART = 256
"""Vectors after which meaning is searched for the first time; then at each doubling."""
INLINE = 32
"""Missing vectors up to which a change waits for them: about a third of a second."""
RETRY_S = 30.0
"""Pause before vectors that could not be computed are tried again."""

log = logger("retrieval")


class Index:
    """Implements `interfaces.Searcher`. Safe to use from several threads; a search never waits for an update.

    Args:
        encoder: for search by meaning; keyword and name search alone when None.
        store: where vectors are kept between runs; in memory when None.
        folder: where the index itself is kept between runs; nowhere when None.
        prebuilt: index folders made elsewhere, read only; their rows are taken over where they still fit.
        progress: told how many of how many texts are encoded.
        background: whether `rebuild` and `update` leave more than a few vectors to a thread of its own and return as
            soon as keyword search is right; else they return when every vector is there.
        query_s: how long a search waits for the vectors of its query.
    """

    def __init__(
        self,
        encoder: Encoder | None,
        *,
        store: VectorStore | None = None,
        folder: Path | None = None,
        prebuilt: Sequence[Path] = (),
        progress: Progress | None = None,
        background: bool = False,
        query_s: float = QUERY_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.guard = Guard(encoder, monotonic=monotonic, query_s=query_s)
        self._monotonic = monotonic
        self._store = store or VectorStore()
        self._folder = folder
        self._prebuilt = tuple(prebuilt)
        self._progress = progress
        self._background = background
        self._state = State()
        self._writing = threading.Lock()
        self._encoding = threading.Lock()
        self._stopped = threading.Event()
        self._next_try = 0.0
        # The digest of a sentence-transformers model is known only after seconds of loading: learned when encoding.
        slow = encoder is None or isinstance(encoder, SentenceTransformersEncoder)
        self._digest: str | None = None if slow or encoder is None else encoder.digest

    def __len__(self) -> int:
        return len(self._state.rows)

    # --- search

    def search(self, query: Query, *, estimates: Mapping[str, Estimate] | None = None) -> SearchAnswer:
        """Rank the actions for the intents; without intents, list what passes the filters in order of ids."""
        started = time.thread_time()
        state = self._state
        mask = state.mask(query)
        intents = tuple(text for intent in query.intents[:MOST_INTENTS] if (text := intent[:LONGEST_INTENT].strip()))
        beliefs = estimates or EMPTY
        degraded: str | None = None
        if intents:
            vectors, degraded = self._vectors(state, [clauses(intent) for intent in intents])
            ranked = [
                ranking.candidates(state, intent, own, mask) for intent, own in zip(intents, vectors, strict=True)
            ]
            placed = ranking.arrange(state, ranked, beliefs, query.offset + query.limit)
            unmet = tuple(at for at, listed in enumerate(ranked) if not ranking.fits(listed))
        else:
            unmet = ()
            rows = sorted(np.flatnonzero(mask).tolist(), key=state.id)
            placed = [ranking.Placed(ranking.Candidate(row, 0.0), (), 0.0) for row in rows]
        page = placed[query.offset : query.offset + query.limit]
        after = placed[query.offset + query.limit :][: ranking.AHEAD]
        return SearchAnswer(
            hits=tuple(
                ranking.hit(state, one, intents, beliefs.get(state.id(one.candidate.row)), mask) for one in page
            ),
            total=len(placed),
            degraded=degraded,
            neighbours=tuple(state.id(one.candidate.row) for one in after),
            unmet=unmet,
            cpu_ms=round(1000 * (time.thread_time() - started), 3),
        )

    def _vectors(self, state: State, intents: Sequence[Sequence[str]]) -> tuple[Sequence[Floats | None], str | None]:
        """Vectors of the clauses of each intent, and what the search has to do without."""
        nothing = [None] * len(intents)
        if self.guard.encoder is None or not state.rows:
            return nothing, None
        waiting, total = state.waiting, len(state.rows)
        if waiting:
            self._catch_up()
        preparing = f"search by meaning is being prepared ({total - waiting} of {total} actions)" if waiting else None
        if waiting == total:
            return nothing, self.guard.reason or preparing
        encoded = self.guard.queries([clause for intent in intents for clause in intent])
        if encoded.vectors is None:
            return nothing, encoded.reason
        ends = np.cumsum([len(intent) for intent in intents])[:-1]
        return np.split(encoded.vectors, ends), self.guard.reason or preparing

    # --- change

    def update(self, changes: Iterable[CatalogChange], actions: Callable[[str], Action | None]) -> None:
        """Bring the index up to date with changes of the catalog; re-encodes only texts that were never seen."""
        touched = dict.fromkeys(
            name for change in changes for name in (*change.removed, *change.added, *change.changed)
        )
        with self._writing:
            state = self._state
            now = {name: actions(name) for name in touched}
            fresh = [action for action in now.values() if action is not None]
            gone = [name for name, action in now.items() if action is None and name in state.rows]
            if fresh or gone:
                self._state = self._joined(self._with(state, fresh, gone))
        self._encode()

    def rebuild(self, actions: Sequence[Action]) -> None:
        """Index exactly these actions, taking over what is already indexed of them, here or in a folder.

        Keyword and name search work as soon as this has looked at the texts; meaning follows while it goes on.
        """
        with self._writing:
            state = self._state if self._state.rows else self._stored()
            wanted = {action.id: action for action in actions}
            fresh = [
                action
                for action in wanted.values()
                if (row := state.rows.get(action.id)) is None or state.key(row) != action_key(action)
            ]
            gone = [name for name in state.rows if name not in wanted]
            if len(fresh) + len(gone) > DEAD_SHARE * len(wanted):
                self._keep_vectors(state, wanted)
                self._state = self._with(State(), list(wanted.values()), ())
            else:
                self._state = self._joined(self._with(state.holding(wanted), fresh, gone))
        self._encode()
        if fresh or gone:
            self.save()

    def save(self) -> None:
        """Write the index to its folder, if it has one."""
        if self._folder is not None:
            with self._writing:
                folders.write(self._folder, self._state, self._digest)

    def export(self, folder: Path) -> folders.Info:
        """Write the index with its actions to a folder that serves elsewhere. Raises StorageError."""
        with self._writing:
            return folders.write(folder, self._state, self._digest, with_actions=True)

    def close(self) -> None:
        """Stop encoding, write the index, close the vector store."""
        self._stopped.set()
        with self._encoding:
            self.save()
            self._store.close()

    def _with(self, state: State, fresh: Sequence[Action], gone: Iterable[str]) -> State:
        """The state with a segment for `fresh` actions, their vectors included where they are known."""
        averages = state.segments[0].postings.averages if state.segments else None
        part = segments.build([document(action) for action in fresh], averages)
        known = self._store.get(self._text_keys(fresh)) if self._digest and fresh else {}
        if known and len(known) == len(set(self._text_keys(fresh))):
            part = part.with_vectors(np.stack([known[key] for key in self._text_keys(fresh)]))
        return state.with_segment(part, fresh, gone)

    def _joined(self, state: State) -> State:
        """The state with its small segments joined when there are many, and indexed anew when too much is dead."""
        sizes = [len(part.ids) for part in state.segments]
        outside = len(state.alive) - max(sizes, default=0)
        alive = [action for action in state.actions if action is not None]
        if max(state.dead, outside) > max(DEAD_SHARE * len(alive), SEGMENTS):
            return self._with(State(), alive, ())
        if len(sizes) <= SEGMENTS:
            return state
        base = state.only(sizes.index(max(sizes)))
        return self._with(base, [action for action in alive if action.id not in base.rows], ())

    def _stored(self) -> State:
        """What the index's own folder holds, or the first prebuilt folder that can be read."""
        for folder in (*([self._folder] if self._folder else []), *self._prebuilt):
            found = folders.read(folder, self._digest)
            if found is not None:
                return found
        return State()

    # --- vectors

    def _text_keys(self, actions: Iterable[Action]) -> list[bytes]:
        digest = self._digest or ""
        return [text_key(digest, encoded_text(action)) for action in actions]

    def _keep_vectors(self, state: State, wanted: Mapping[str, Action]) -> None:
        """Store the vectors of rows that are about to be indexed anew, where the store does not have them."""
        if not self._digest:
            return
        kept = [(row, wanted[name]) for name, row in state.rows.items() if name in wanted]
        kept = [(row, action) for row, action in kept if state.key(row) == action_key(action)]
        keys = self._text_keys(action for _, action in kept)
        known = self._store.get(keys)
        rows = {key: row for (row, _), key in zip(kept, keys, strict=True) if key not in known}
        found = state.vectors(np.fromiter(rows.values(), np.int64, len(rows)))
        self._store.put({key: found[at] for at, key in enumerate(rows) if at in found})

    def _encode(self) -> None:
        """Compute the vectors that are missing, here or, where that takes long, beside the caller."""
        if self._background and self._state.waiting > INLINE:
            self._beside(self._encode_and_save)
        else:
            self._encode_waiting()

    def _encode_and_save(self) -> None:
        self._encode_waiting()
        if not self._stopped.is_set():
            self.save()

    def _beside(self, work: Callable[[], None]) -> None:
        threading.Thread(target=work, name="anyact-vectors", daemon=True).start()

    def _encode_waiting(self) -> None:
        """Compute every vector that is missing; does nothing while another thread is at it."""
        while self.guard.encoder is not None and self._state.waiting and not self._stopped.is_set():
            if not self._encoding.acquire(blocking=False):
                return
            try:
                if not self._encode_segment():
                    return
            finally:
                self._encoding.release()

    def _encode_segment(self) -> bool:
        """Compute the missing vectors of the first segment that lacks some.

        Returns:
            whether to go on; False after a failure.
        """
        if self._digest is None and not self._learn_digest():
            return False
        state = self._state
        first_waiting = state.first_waiting()
        if first_waiting is None:
            return True
        offset, part = first_waiting
        own = state.actions[offset : offset + len(part.ids)]
        keys = [None if action is None else self._text_keys([action])[0] for action in own]
        found = self._store.get([key for key in dict.fromkeys(keys) if key is not None])
        missing = {key: action for key, action in zip(keys, own, strict=True) if key and action and key not in found}
        waiting = list(missing)
        due = FIRST_PART
        for first in range(0, len(waiting), STEP):
            chunk = waiting[first : first + STEP]
            encoded = self.guard.documents([encoded_text(missing[key]) for key in chunk])
            if encoded.vectors is None:
                return False
            fresh = dict(zip(chunk, encoded.vectors, strict=True))
            self._store.put(fresh)
            found.update(fresh)
            if self._progress:
                self._progress(first + len(chunk), len(waiting))
            if self._stopped.is_set():
                return False
            if first + len(chunk) >= due:
                due *= 2
                self._install(part, keys, found)
        self._install(part, keys, found)
        return True

    def _install(self, part: Segment, keys: Sequence[bytes | None], found: Mapping[bytes, Floats]) -> None:
        """Give a segment the vectors of its first rows, up to the first that is still missing."""
        width = next(iter(found.values())).shape if found else (1,)
        blank = np.zeros(width, np.float32)
        ready: list[Floats] = []
        for key in keys:
            vector = blank if key is None else found.get(key)
            if vector is None:
                break
            ready.append(vector)
        grown = part.with_vectors(np.stack(ready))
        with self._writing:
            self._state = self._state.with_segments(
                [grown if held.ids is part.ids else held for held in self._state.segments]
            )

    def _learn_digest(self) -> bool:
        """Load the encoder to know which it is."""
        probe = self.guard.documents(["probe"])
        encoder = self.guard.encoder
        if probe.vectors is None or encoder is None:
            return False
        self._digest = encoder.digest
        return True

    def _catch_up(self) -> None:
        """Try again, beside the searches, to compute the vectors that are missing."""
        if self._monotonic() >= self._next_try and not self._encoding.locked():
            self._next_try = self._monotonic() + RETRY_S
            self._beside(self._encode_and_save)
