"""What REST takes: a frozen model per body, strict about names, so that a typing mistake is an error, not ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from anyact_server.types import Call, Query, Task

Detail = Literal["cards", "schemas", "full"]
WHOLE_NUMBERS = frozenset({"limit", "offset", "budget_tokens", "max_parallel"})
Text = Annotated[str, Field(max_length=100_000)]
Intent = Annotated[str, Field(max_length=100_000, pattern=r"\S")]
Intents = Annotated[list[Intent], Field(min_length=1, max_length=20)]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Body(BaseModel):
    """Base of every body."""

    # Built at first use: a process that serves stdio never needs them.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _count(cls, given: Any) -> Any:
        """JSON Schema counts 3.0 among the integers."""
        if not isinstance(given, dict):
            return given
        return {name: _whole(value) if name in WHOLE_NUMBERS else value for name, value in given.items()}


class SearchBody(Body):
    """A search."""

    intents: Annotated[
        Intents,
        BeforeValidator(_listed, json_schema_input_type=Intents | Intent),
        Field(description="One line per need; a single one may stand alone."),
    ]
    limit: Annotated[int, Field(ge=1, le=50, description="Hits at most.")] = 10
    offset: Annotated[int, Field(ge=0, le=10_000, description="Hits to leave out.")] = 0
    servers: Annotated[list[Text], Field(max_length=1000, description="Only actions of these servers.")] = []
    tags: Annotated[list[Text], Field(max_length=1000, description="Only actions of servers with these tags.")] = []
    read_only: Annotated[bool | None, Field(description="Only actions declared read-only (true), or the others.")] = (
        None
    )
    detail: Annotated[
        Detail, Field(description="`schemas` adds the input schema to hits, `full` everything else too.")
    ] = "cards"

    def query(self) -> Query:
        """As the searcher takes it."""
        return Query(
            tuple(self.intents),
            limit=self.limit,
            offset=self.offset,
            servers=tuple(self.servers),
            tags=tuple(self.tags),
            read_only=self.read_only,
        )


class ArgumentsBody(Body):
    """A call of the action that the path names; no body at all means no arguments."""

    arguments: Annotated[Any, Field(description="An object; a string that holds an object is taken too.")] = None
    timeout_s: Annotated[float | None, Field(gt=0, le=86_400, description="Limit in seconds.")] = None
    budget_tokens: Annotated[int | None, Field(ge=100, le=1_000_000, description="Tokens of the text.")] = None


class CallBody(ArgumentsBody):
    """A call."""

    action: Annotated[Text, Field(min_length=1, description="An action's id, or its name where only one has it.")]


class TaskBody(ArgumentsBody):
    """A task of a run."""

    id: Annotated[
        Text | None,
        Field(validation_alias=AliasChoices("id", "name"), description="Its number where none is given."),
    ] = None
    action: Annotated[Text, Field(min_length=1, validation_alias=AliasChoices("action", "tool"))]
    depends_on: Annotated[list[Text], Field(max_length=500, description="Ids of tasks that must be done first.")] = []
    on_error: Literal["stop_dependents", "continue", "cancel_run"] = "stop_dependents"

    def task(self, number: int) -> Task:
        """As runs take it; `number` counts from 1."""
        call = Call(self.action, self.arguments, self.timeout_s, self.budget_tokens)
        return Task(self.id or str(number), call, tuple(self.depends_on), self.on_error)


class RunBody(Body):
    """A run."""

    tasks: Annotated[list[TaskBody], Field(min_length=1, max_length=2000)]
    max_parallel: Annotated[int | None, Field(ge=1, le=1000, description="Tasks at the same time.")] = None
    wait_s: Annotated[
        float | None, Field(ge=0, le=86_400, description="How long to wait for the end; null: to the end.")
    ] = None
