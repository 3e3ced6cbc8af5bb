"""What AnyAct promises about every kind of reported trouble: one line per case, each tied to tests that name it.

`scripts/cases` prints the list with its tests; `test_promises.py` holds the tie in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Where = Literal["stdio", "http", "rest", "run", "config", "cli", "search"]


@dataclass(frozen=True, slots=True)
class Promise:
    """A case: its id, what holds, and the routes on which it could differ."""

    id: str
    text: str
    routes: tuple[Where, ...]


def _promises(*rows: tuple[str, str, str]) -> dict[str, Promise]:
    return {name: Promise(name, text, tuple(routes.split())) for name, text, routes in rows}  # type: ignore[arg-type]


PROMISES = _promises(
    ("S1", "A tool with an unusable schema is set aside with its reason; its neighbours work.", "stdio http rest run"),
    ("S2", "No shown schema refers to what is not there, and nothing of it is lost.", "http rest"),
    ("S3", "Shown schemas are taken by strict clients; arguments are checked against the original.", "stdio http"),
    ("S4", "Arguments in odd wrapping are taken or refused the same way everywhere.", "stdio http rest run"),
    ("N1", "Every id fits the strictest client and never moves; servers get their own names.", "stdio http"),
    ("N2", "Tools of one name on two servers are both reached; no name runs its neighbour.", "stdio http rest run"),
    ("N3", "Ids are looked up, never taken apart.", "stdio http"),
    ("F1", "What a client must read stays small however much lies behind.", "stdio http"),
    ("F2", "The name of an action finds it first, however it is written.", "search rest"),
    ("F3", "Search answers by keywords, and says so, when its encoder fails.", "search"),
    ("I1", "No call waits for another, but on servers that want one at a time.", "stdio http run"),
    ("I2", "A task that fails takes no other with it.", "run rest"),
    ("I3", "Connections close in any order, from any task, without harm.", "stdio http"),
    ("P1", "Noise on a server's output is skipped and noted once.", "stdio"),
    ("P2", "A slow start is waited for apart from calls, and nobody else waits for it.", "stdio"),
    ("P3", "A server that does not start says why at once: command, exit code, last words.", "stdio cli"),
    ("R1", "A lost session is made anew once, for all who wait, without a loop.", "http"),
    ("R2", "Streams that end are opened again slowly, never in a rush.", "http"),
    ("R3", "State that a server keeps for a session lasts as long as the client's.", "stdio http"),
    ("L1", "A death in mid-call is told within two seconds, and the next call works.", "stdio http"),
    ("L2", "Stopping a server leaves no process of it behind.", "stdio"),
    ("C1", "One bad entry of a configuration costs no other; errors name their line.", "config"),
    ("C2", "Variables are expanded where documented; an unset one fails its server alone.", "config"),
    ("C3", "A program gets its arguments exactly as written.", "config stdio"),
    ("C4", "A changed configuration touches only the servers that changed.", "config http"),
    ("B1", "A result of any size becomes an answer of a set size and a handle.", "stdio http rest run"),
    ("B2", "Pictures stay pictures, within limits, and never appear as text.", "stdio http rest"),
    ("D1", "Servers that are down delay and hide nothing of the others.", "stdio http rest"),
    ("D2", "Each server's state, reason and next try are told alike on every face.", "http rest cli"),
    ("H1", "A server without prompts or resources is a sound server.", "stdio http"),
    ("H2", "Addresses are used as written, redirects followed without losing or leaking anything.", "http rest"),
    ("H3", "Private certificates and proxies can be used, per server.", "http"),
    ("O1", "The failure flag arrives as the server set it, apart from protocol errors.", "stdio http rest run"),
    ("O2", "A success that says it failed is marked, never changed.", "stdio http rest"),
    ("O3", "A result that breaks its declared form is passed on with a warning.", "stdio http"),
    ("O4", "Empty, missing and odd content is told as what it is.", "stdio http rest run"),
    ("O7", "REST answers each class of outcome with one code and one body.", "rest"),
    ("A1", "No secret appears anywhere, whole or in part.", "stdio http rest cli"),
    ("A2", "A client's own credentials go to no server.", "http"),
    ("A3", "A refused login is told as such, without a loop and without blame.", "http rest"),
    ("G1", "All pages of a list are read, once each, and no cursor loops for ever.", "stdio http"),
    ("G2", "What a server changes is seen at once, and clients are told once.", "stdio http rest"),
    ("G3", "An empty list of a fresh server is asked for again before it is believed.", "stdio http"),
    ("X1", "Web pages of other sites reach nothing, on any route.", "http rest"),
    ("X2", "Huge and deep requests are refused early and cost nobody anything.", "stdio http rest"),
    (
        "T1",
        "The nearest time limit applies, is named in the error, and keeps the stream in step.",
        "stdio http rest run",
    ),
    ("T2", "Progress restarts the limit of a call and reaches its client alone.", "stdio http"),
    ("Y1", "Nothing with a side effect is ever sent twice.", "stdio http rest run"),
    ("E1", "Bad bytes are replaced and noted; what is sent is always sound.", "stdio http rest"),
    ("E2", "Lines of any size up to a stated limit are read.", "stdio http"),
    ("Z1", "A tool that changes its meaning is marked as changed, across restarts.", "config"),
    ("Z2", "Rules apply to the target on every route; what is hidden appears nowhere.", "stdio http rest run"),
    ("Q1", "A server's question reaches the client whose call it is, or is refused at once.", "stdio http rest"),
)
