"""What kind of failure a message tells of: ordered rules over the words of an error, its codes and its fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from anyact_server.types import Fault, Json, Kind

from .patterns import Pattern

_LOOKED_AT = 1500
"""Characters of a message that are read; the cause of a failure stands at its head."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message was understood to say; `sure` is 0 to 1, `fault` is set where it is not the kind's usual one."""

    kind: Kind
    sure: float
    fault: Fault | None = None


def _rules(*rules: tuple[Kind, str]) -> tuple[tuple[Kind, Pattern], ...]:
    return tuple((kind, Pattern(pattern, re.IGNORECASE)) for kind, pattern in rules)


_STATUS = Pattern(
    r"(?:\bHTTP(?:/[\d.]+)?(?: (?:status|error|code))*[ :=]{1,3}|\bstatus(?:[ _]?code)?[ :=\"']{1,4}(?:of )?"
    r"|\bcode[ :=\"']{1,4}"
    r"|\berror[ :=(]{1,3}|\breturned |\breceived |\bfailed with |^\W{0,3}|\(|\berror '|\[)"
    r"([45]\d\d)\b(?![.:]\d|,\d{3})(?= |\)|,|'|\"|\]|:|$|\.|\n|;|}|-)",
    re.IGNORECASE,
)
"""An HTTP status named as such: after a word that announces it, at the start, or in brackets."""
_PHRASE = Pattern(
    r"\b([45]\d\d) (?:bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed"
    r"|not acceptable"
    r"|request time-?out|conflict|gone|(?:request entity|payload|content) too large|unsupported media type"
    r"|unprocessable|too many requests|internal server error|not implemented|bad gateway|service unavailable"
    r"|service temporarily|gateway time-?out|(?:client|server) error)|\b(?:client|server) error '?([45]\d\d)\b",
    re.IGNORECASE,
)

_WORDS = _rules(
    (
        Kind.CANCELLED,
        r"\b(?:request|operation|call) was (?:cancell?ed|aborted)\b|\bcancell?ed by (?:the )?(?:user|client)",
    ),
    (
        Kind.RATE_LIMITED,
        r"rate.?limit|too many requests|ratelimited|throttl|quota (?:exceeded|exhausted)|retry later|slow down"
        r"|resource_?exhausted|overloaded|at capacity|exceeded (?:your|the) (?:\w+ ){0,2}(?:quota|limit)"
        r"|requests? limit|usage limit|limit of requests|过于频繁|频率|レート制限",
    ),
    (
        Kind.NOT_FOUND,
        r"unknown tool|tool ['\"`]?[\w./:-]+['\"`]? (?:was )?(?:not found|is not (?:known|available|registered))"
        r"|no (?:such )?tool (?:named|called)|unknown method|method not found"
        r"|do(?:es)? not exist or (?:you|the)|not found or (?:you|access|no access|already)",
    ),
    (
        Kind.INVALID_ARGS,
        r"validation errors? for|input validation error|invalid arguments? for tool|invalid input\b|input_value="
        r"|missing (?:\d+ )?required|required (?:argument|parameter|property|field)|is a required property"
        r"|invalid_type|invalid_enum|invalid_arguments|zoderror|fieldvalidation|unexpected keyword argument"
        r"|arguments? (?:is|are) (?:required|missing|invalid)|missing (?:arguments?|parameters?|fields?)"
        r"|unknown (?:parameter|argument|option|field)|additional properties|unrecognized_?keys?|graphql_validation"
        r"|err_(?:unsafe_port|invalid|aborted|unknown_url)|(?:quer(?:y|ies)|statements?|values?|types?"
        r"|formats?) (?:\w+ )?"
        r"(?:is|are) not allowed|only .{3,40} (?:are|is) (?:allowed|supported|permitted)"
        r"|unsupported (?:operat|ur[il]|scheme"
        r"|protocol|format|type|value|language|expression|character|file (?:type|format|extension))|invalid scheme",
    ),
    (Kind.PERMISSION, r"\be(?:acces|perm)\b"),
    (
        Kind.TIMEOUT,
        r"\btime[d-]? ?out\b|timeout|deadline (?:exceeded|expired)|etimedout|timelimit|took too long|超时|タイムアウト"
        r"|did not (?:respond|answer|finish|complete) within|within \d+ ?(?:s|ms|sec\w*|min\w*)\b",
    ),
    (
        Kind.UNAVAILABLE,
        r"enotfound|econnrefused|econnreset|ehostunreach|enetunreach|eai_again|getaddrinfo|fetch failed"
        r"|failed to fetch\b"
        r"|name or service not known|name ?resolution|(?:failed to|could not|cannot) resolve (?:host|name"
        r"|address|domain|'|\")"
        r"|failed to resolve\b.{0,40}(?:errno|dns)|nodename nor servname|no address associated|\bdns\b"
        r"|connection (?:refused|reset|error|failed|closed|aborted|attempts? failed)|connect(?:ion)?error"
        r"|cannot connect"
        r"|can't connect|could not connect|unable to connect|failed to connect|error connecting"
        r"|not connected to|need to connect"
        r"|connectionrefused|max retries exceeded|newconnectionerror|failed to establish"
        r"|network (?:error|is unreachable|unreachable|failure|request failed)|socket hang up"
        r"|net::err_(?:name|connection|internet|network|address|proxy|tunnel)|no route to host|host unreachable"
        r"|server (?:is )?(?:down|unreachable|offline|not running|has gone away)"
        r"|service (?:is )?(?:currently |temporarily )?unavailable|(?:temporarily|currently) unavailable"
        r"|request to \S+ failed|connect call failed|cannot reach|unreachable|is not running\b|ssl(?:error"
        r"| handshake)"
        r"|error sending request|could not reach|unable to reach|backend unavailable"
        r"|failed to (?:launch|start) (?:the )?(?:browser|chrom|server|process)",
    ),
    (
        Kind.AUTH,
        r"unauthori[sz]ed|unauthenticated|authenticat(?:e|ion) (?:failed|required|error|is required)"
        r"|authenticationexception|not authenticated|authenticate first"
        r"|invalid[ _](?:\w+[ _])?(?:token|api[ _-]?key|credentials?|auth|grant|client)\b"
        r"|(?:token|credentials?|session|login|api key) (?:has |have |is |was |were )?(?:expired|revoked|invalid)"
        r"|token_revoked|token_expired|expired token|invalid_auth|not_authed|bad credentials|wrong password"
        r"|(?:missing|no|requires? an?|set|need|provide|without|configure) (?:\w+[ _]){0,3}"
        r"(?:api[ _-]?key|access[ _]token|auth token|credentials?|cloud_id|token|password)\b"
        r"|(?:get|obtain|refresh|acquire) (?:\w+[ _]){0,3}access_?token"
        r"|api[ _-]?key (?:is )?(?:not|missing|required|must)"
        r"|\b[A-Z_]*(?:API_KEY|TOKEN|SECRET)\b (?:is |environment|not |must|to be)"
        r"|(?:environment variable|env var)[^.]{0,40}(?:key|token|secret)|please (?:log|sign) ?in|not logged in"
        r"|log in to|sign in to|login required|requires? (?:a )?(?:login|authentication)|noauth"
        r"|credentials (?:are|were) (?:not|missing)|default credentials|could not load credentials"
        r"|password authentication failed|no password supplied|no user given|login failed|sign-in page|credential",
    ),
    (Kind.CONFLICT, r"already exists?\b|eexist|unique constraint|database is locked"),
    (
        Kind.PERMISSION,
        r"permission.?den|access (?:is )?denied|forbidden|not (?:permitted|authori[sz]ed)|not_in_channel"
        r"|insufficient[ _](?:scope|permission|privilege|rights)|permissionerror|operation not permitted"
        r"|outside (?:of )?(?:the )?(?:allowed|permitted|workspace|working|project|root|sandbox)"
        r"|not (?:with)?in (?:the |any )?(?:allowed|permitted)|(?:path|directory|folder|file|url|host|domain|command)"
        r"\b[^.]{0,80}not allowed|is not allowed to\b|not allowed (?:for|by|to) "
        r"|(?:blocked|refused|denied|rejected|disallowed) (?:by|to|for|because)|refusing to"
        r"|read-?only (?:database|file ?system|mode|transaction|file|replica)|readonly|not writ(?:e)?able"
        r"|not readable"
        r"|private (?:ip|address|network)|path traversal|must (?:be|stay) within|escapes? the"
        r"|admin(?:istrator)? (?:rights|privileges)|can't write against a read only|noperm\b|not allowed list"
        r"|security (?:policy|restriction|reasons|violation)|command (?:is )?(?:not allowed|blocked)|not accessible"
        r"|secret gate|(?:is|are|was|been) (?:blocked|banned|suspended)|no access|allowed director"
        r"|do(?:es)? not have (?:the )?(?:permission|access)|missing_scope",
    ),
    (
        Kind.CONFLICT,
        r"already (?:in use|open|running|been|exported|registered|taken|started|initiali[sz]ed)|conflict\b|duplicate"
        r"|is locked|lock (?:is )?held|busy|nothing (?:to|staged|added to) commit|nothing to commit|no dialog"
        r"|not (?:yet )?(?:initiali[sz]ed|indexed|loaded|opened)|not been (?:indexed|initiali[sz]ed|loaded)"
        r"|(?:is|are) not empty|no (?:open|active) (?:browser|page|tab|dialog|document|project)|wrong state"
        r"|precondition"
        r"|changed since|modified since|version mismatch|no changes (?:added|staged|to)|modal state"
        r"|only be (?:used|called|done) (?:when|while|after)",
    ),
    (
        Kind.UNAVAILABLE,
        r"command ['\"`]?[\w.-]+['\"`]? not found|(?:is|are) not installed|executable (?:doesn't|does not|not)"
        r"|not (?:be )?found (?:in|on) (?:the |your )?(?:system )?path|no module named|cannot find module"
        r"|module ?not ?found"
        r"|spawn \S+ enoent|browser .{0,40}not (?:found|installed)|please install|playwright install|libreoffice"
        r"|could not find (?:chrome|browser)",
    ),
    (
        Kind.NOT_SUPPORTED,
        r"not (?:yet )?(?:supported|implemented)|unsupported|notimplemented|no longer supported"
        r"|not available (?:in|on|for)|only available (?:in|on|to|for)|(?:feature|platform|version) (?:is )?not"
        r"|deprecated and removed|\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+ (?:to be|is not|must be|not) set",
    ),
    (
        Kind.INVALID_ARGS,
        r"^\W*(?:error: )?(?:invalid|malformed|unknown (?:identifier|operator|function|variable|key\b|backend"
        r"|source|action))"
        r"|is this a zip file",
    ),
    (
        Kind.NOT_FOUND,
        r"not[ _]found|enoent|esrch|no such|do(?:es)?(?: not|n't) exist|did not exist|non-?existent|is missing: "
        r"|unknown (?:id|key|name|user|link|session)|could(?: not|n't) (?:be )?f(?:ind|ound)|cannot find|can't find"
        r"|unable to find|no \w+ (?:named|called|with (?:the )?(?:id|name|key|path))|not_found|notfound"
        r"|no (?:[\w-]+ ){1,4}(?:found|exists?|stored|matches|matching)\b|not exist|is unknown|match(?:ed|es) nothing"
        r"|unknown (?:repository|table|column|file|resource)|there is no \w+|isn't in|is not in (?:this|the)"
        r"|\b(?:contains?|has|have) no (?!attribute)\w+|^\W*no (?:\w+ ){1,3}(?:in|for|with|at|on|under)\b"
        r"|may have exited"
        r"|bad revision|unknown revision|pathspec|不存在|未找到|找不到|見つかりません",
    ),
    (
        Kind.INTERNAL,
        r"unexpected (?:error|return|response|token|end of|exception)|has no attribute|index out of range|nonetype"
        r"|cannot read propert|undefined is not|is not (?:iterable|a function)|null ?pointer|parse (?:\w+ )?response"
        r"|traceback|(?:internal|unhandled|uncaught) (?:error|exception)|output validation|segmentation"
        r"|assertion ?error"
        r"|keyerror|attributeerror|structured content",
    ),
    (
        Kind.UPSTREAM_5XX,
        r"internal server error|bad gateway|gateway time-?out|server error|upstream (?:error|failure)"
        r"|\b5\d\d\b|httperror",
    ),
    (Kind.UPSTREAM_4XX, r"\bdeclined\b|entity too large|payload too large"),
    (
        Kind.UNAVAILABLE,
        r"(?:could not|failed to|unable to) (?:fetch|retrieve|download|load) (?:the )?(?!.{0,60}(?:invalid|parse))",
    ),
)
"""The first rule that matches decides; the order puts causes before their wording ("403" before "not found")."""
_LAST = _rules(
    (
        Kind.INVALID_ARGS,
        r"\binvalid\b|must (?:be|have|contain|match|start|not|specify|provide)|should be|expected\b|required|missing"
        r"|malformed|syntax error|parse error|pars(?:e|ing)\b|unparse?able|not a valid|is not valid"
        r"|cannot be empty|empty"
        r"|too (?:long|short|large|small|many)|out of (?:range|bounds)|at least|at most|between \d+ and|one of"
        r"|exactly one|either\b|unexpected|unknown|bad request|illegal|wrong (?:type|format|number)|not (?:a|an) \w+"
        r"|cannot (?:parse|convert|be parsed)|could not (?:parse|convert)|unsupported (?:format|url)"
        r"|constraint failed"
        r"|no column|unbalanced|bad \w+|unrecognized|only \w+ (?:\w+ )?(?:are|is) allowed"
        r"|cannot be (?:negative|null|blank)|division by zero|divide by zero|nan\b|positive|negative|format|argument"
        r"|parameter|provide|specify|valueerror|typeerror|\bneeds? \w+|not allowed|are valid|allowed (?:keys|values)",
    ),
)
"""Words that tell of a wrong argument where nothing more telling was said."""


def of_status(status: int) -> Kind | None:
    """The kind that an HTTP status stands for; None below 400 and above 599."""
    special = {
        401: Kind.AUTH,
        403: Kind.PERMISSION,
        404: Kind.NOT_FOUND,
        407: Kind.AUTH,
        408: Kind.TIMEOUT,
        409: Kind.CONFLICT,
        410: Kind.NOT_FOUND,
        429: Kind.RATE_LIMITED,
    }
    if status in special:
        return special[status]
    if 400 <= status < 500:
        return Kind.UPSTREAM_4XX
    return Kind.UPSTREAM_5XX if 500 <= status < 600 else None


def status_in(message: str) -> int | None:
    """The HTTP status that a message names as such."""
    head = message[:_LOOKED_AT]
    phrase = _PHRASE.search(head)
    if phrase is not None:
        return int(phrase[1] or phrase[2])
    found = _STATUS.search(head)
    return int(found[1]) if found is not None else None


def read_message(message: str, code: Json = None) -> Reading:
    """The kind of a failure from its message and, where there is one, its code."""
    known = _of_code(code)
    if known is not None:
        return known
    head = message[:_LOOKED_AT]
    if _LIMITED.search(head):
        return Reading(Kind.RATE_LIMITED, 0.95)
    status = status_in(head)
    kind = of_status(status) if status is not None else None
    if kind is not None:
        return Reading(kind, 0.95, _fault(kind, head, http=True))
    first = head.partition("\n")[0][:300]
    for sure, rules, text in ((0.8, _WORDS, first), (0.75, _WORDS, head), (0.6, _LAST, head)):
        for kind, pattern in rules:
            if pattern.search(text):
                return Reading(kind, sure, _fault(kind, head, http=False))
    return Reading(Kind.INTERNAL, 0.4, _fault(Kind.INTERNAL, head, http=False))


_LIMITED = Pattern(r"rate limit|too many requests|quota exceeded", re.IGNORECASE)
"""Outranks a status: services also send 403 for it."""


def _of_code(code: Json) -> Reading | None:
    """The kind of a code that names it: an HTTP status or a word such as `RATE_LIMITED`."""
    if isinstance(code, bool) or code is None:
        return None
    if isinstance(code, int):
        kind = of_status(code)
        return Reading(kind, 0.95) if kind is not None else None
    text = str(code)
    if text.isdecimal() and len(text) == 3:
        return _of_code(int(text))
    for kind, pattern in _CODES:
        if pattern.search(text):
            return Reading(kind, 0.9)
    return None


_CODES = _rules(
    (Kind.RATE_LIMITED, r"rate.?limit|overloaded|too_?many|throttl|quota|exhausted"),
    (Kind.AUTH, r"unauth|invalid_?(?:auth|token|key|grant)|not_?authed|token_|expired_?token|login"),
    (Kind.PERMISSION, r"forbidden|permission|access_?denied|insufficient|not_in_channel|e?acces$|eperm"),
    (Kind.CONFLICT, r"conflict|already_?exists|eexist|duplicate"),
    (Kind.TIMEOUT, r"time_?d?_?out|deadline"),
    (Kind.UNAVAILABLE, r"unavailable|econn|enotfound|network|eai_again"),
    (Kind.NOT_FOUND, r"not_?found|no_?such|enoent|unknown_?(?:id|tool)"),
    (Kind.UPSTREAM_4XX, r"declined"),
    (Kind.NOT_SUPPORTED, r"not_?implemented|unsupported|not_?supported"),
    (
        Kind.INVALID_ARGS,
        r"validation|invalid_?(?:arg|param|input|sql|request_body|type)|bad_?request|parse_error|missing_",
    ),
)

_SETUP = Pattern(
    r"command ['\"`]?[\w.-]+['\"`]? not found|(?:is|are) not installed|please install|playwright install"
    r"|no module named|cannot find module"
    r"|spawn \S+ enoent|make sure|(?:addon|add-on|plugin|extension|app|application|daemon|browser|docker"
    r"|studio|editor|bridge) (?:is )?(?:not )?running"
    r"|not found (?:in|on) (?:the |your )?(?:system )?path|libreoffice|chromium|chrome\b|libgl|shared librar"
    r"|is not configured",
    re.IGNORECASE,
)
_FENCE = Pattern(
    r"outside|not (?:with)?in (?:the |any )?allowed|path not allowed|not allowed|blocked|refus|ssrf|private"
    r"|must be within|traversal|allowed director"
    r"|forbidden (?:path|command)|escapes?",
    re.IGNORECASE,
)
_THROWN = Pattern(r"evaluat|\bscript\b|page\.|nosuch|user code|your code|javascript", re.IGNORECASE)


def _fault(kind: Kind, message: str, *, http: bool) -> Fault | None:
    """Whose fault it is where the kind's usual answer is wrong; None where it is right."""
    if kind is Kind.UNAVAILABLE and not http and _SETUP.search(message):
        return Fault.ENVIRONMENT
    if kind is Kind.PERMISSION and not http and _FENCE.search(message):
        return Fault.CALLER
    if kind is Kind.CONFLICT and re.search(r"locked|busy|lock (?:is )?held", message, re.IGNORECASE):
        return Fault.ENVIRONMENT
    return Fault.CALLER if kind is Kind.INTERNAL and _THROWN.search(message) else None


def retry_after(value: Json, message: str) -> float | None:
    """Seconds to wait before the next try, where fields or words of a failure name them."""
    if isinstance(value, Mapping):
        for key in ("retry_after", "retryAfter", "retry_after_s", "retry_after_seconds", "retryAfterSeconds"):
            given = value.get(key)
            if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e6:
                return float(given)
        if isinstance(value.get("retryAfterMs"), int | float):
            return float(value["retryAfterMs"]) / 1000
    found = _WAIT.search(message[:_LOOKED_AT])
    if found is None:
        return None
    unit = found[2].lower()
    scale = 0.001 if unit.startswith("m") and unit in ("ms", "milliseconds") else 60.0 if unit[0] == "m" else 1.0
    return float(found[1]) * scale


_WAIT = Pattern(
    r"(?:retry|try again|wait)\D{0,24}?(\d+(?:\.\d+)?) ?(ms|milliseconds|s|secs?|seconds|m|mins?|minutes)\b",
    re.IGNORECASE,
)
