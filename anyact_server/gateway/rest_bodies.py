"""What REST takes: a frozen model per body, strict about names, so that a typing mistake is an error, not ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from anyact_server.types import Call, Query, Task

Text = Annotated[str, Field(max_length=100_000)]


class Body(BaseModel):
    """Base of every body."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class SearchBody(Body):
    """A search."""

    intents: Annotated[list[Text], Field(min_length=1, max_length=20, description="One line per need.")]
    limit: Annotated[int, Field(ge=1, le=50)] = 10
    offset: Annotated[int, Field(ge=0, le=10_000)] = 0
    servers: Annotated[list[Text], Field(max_length=1000, description="Only actions of these servers.")] = []
    tags: Annotated[list[Text], Field(max_length=1000, description="Only actions of servers with these tags.")] = []
    read_only: Annotated[bool | None, Field(description="Only actions declared read-only (true), or the others.")] = (
        None
    )
    detail: Annotated[Literal["cards", "full"], Field(description="`full` adds schemas to every hit.")] = "cards"

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
    """A call of the action that the path names."""

    arguments: Annotated[Any, Field(description="An object; a string that holds an object is taken too.")] = None
    timeout_s: Annotated[float | None, Field(gt=0, le=86_400, description="Limit in seconds.")] = None
    budget_tokens: Annotated[int | None, Field(ge=100, le=1_000_000, description="Tokens of the text.")] = None


class CallBody(ArgumentsBody):
    """A call."""

    action: Annotated[Text, Field(min_length=1, description="An action's id, or its name where only one has it.")]


class TaskBody(ArgumentsBody):
    """A task of a run."""

    id: Annotated[Text, Field(min_length=1)]
    action: Annotated[Text, Field(min_length=1)]
    depends_on: Annotated[list[Text], Field(max_length=500)] = []
    on_error: Literal["stop_dependents", "continue", "cancel_run"] = "stop_dependents"

    def task(self) -> Task:
        """As runs take it."""
        call = Call(self.action, self.arguments, self.timeout_s, self.budget_tokens)
        return Task(self.id, call, tuple(self.depends_on), self.on_error)


class RunBody(Body):
    """A run."""

    tasks: Annotated[list[TaskBody], Field(min_length=1, max_length=2000)]
    max_parallel: Annotated[int | None, Field(ge=1, le=1000)] = None
    wait_s: Annotated[
        float | None, Field(ge=0, le=86_400, description="How long to wait for the end; null: to the end.")
    ] = None
