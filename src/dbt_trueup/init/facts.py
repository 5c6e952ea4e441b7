"""A guess, and what is known while the next one is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .messages import READERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .log import Log, Row
    from .messages import Change


@dataclass(frozen=True)
class Guess:
    """What one argument of a collection should be, and why."""

    field: str
    value: Any
    why: str
    is_sure: bool = True
    candidates: tuple[str, ...] = ()
    """What else it may be, as the option of the command line would have it."""
    warnings: tuple[str, ...] = ()
    """What the sample has that may surprise the user."""

    @property
    def option(self) -> str:
        """The option of `trueup init` that sets it."""
        return "--" + self.field.replace("_", "-")

    def text(self) -> str:
        """The value as one text."""
        if self.value is None:
            return "none"
        if isinstance(self.value, dict):
            return ", ".join(f"{name} {kind}" for name, kind in self.value.items())
        return self.value if isinstance(self.value, str) else ", ".join(self.value)


@dataclass(frozen=True)
class Mark:
    """A column that looks like a delete."""

    name: str
    why: str
    """Which values it has."""
    condition: str | None = None
    """The condition of a delete; None if the column is not understood."""
    is_delete: Callable[[Row], bool] = lambda _: False
    skip: str | None = None
    """The condition of a row that is no command."""
    is_old: Callable[[Row], bool] = lambda _: False
    truncate: str | None = None
    candidates: tuple[str, ...] = ()
    """What else the condition may be."""
    rank: int = 0
    """The mark with the least rank decides."""
    is_operation: bool = False
    is_by_value: bool = False
    """Whether only some values look like a delete. A column that is called so counts more."""


@dataclass
class Facts:
    """A log, and the guesses so far."""

    log: Log
    name: str
    """The name of the collection."""
    guesses: dict[str, Guess] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    """The messages of an envelope, decoded; those of the chosen table only."""
    others: str | None = None
    """The condition of rows of other tables."""
    whole: Log = field(init=False)
    """The log with the rows of all tables."""
    marks: list[Mark] = field(default_factory=list)
    """The columns that look like deletes, the one that decides first."""

    def __post_init__(self) -> None:
        """Keep the log as it was given."""
        self.whole = self.log

    def __getitem__(self, field: str) -> Any:
        """The value of an earlier guess; None if there is none."""
        return self.guesses[field].value if field in self.guesses else None

    @property
    def unsure(self) -> list[Guess]:
        """The guesses that the user must confirm or correct."""
        return [one for one in self.guesses.values() if not one.is_sure]

    @property
    def is_decoded(self) -> bool:
        """Whether the rows of the collection are inside of messages."""
        return self["envelope"] in READERS

    @property
    def rows(self) -> Sequence[Row]:
        """The sampled rows with the key and the values. Messages without a row are left out."""
        return [one.row for one in self.changes if one.row] if self.is_decoded else self.log.rows

    @property
    def row_columns(self) -> list[str]:
        """The columns of these rows that may be in the key, fields of structs included."""
        if not self.is_decoded:
            return list(self.log.types)
        return list(dict.fromkeys(name for row in self.rows for name in row))

    @property
    def own_columns(self) -> list[str]:
        """Those of them that say something of the row, and nothing of the change."""
        if self.is_decoded:
            return self.row_columns
        others = {*(self["place"] or ()), *(mark.name for mark in self.marks)}
        return [name for name in self.row_columns if self.log.is_own(name) and name not in others]


def share(part: int, whole: int, thing: str) -> str:
    """Write how many of the sampled things have something.

    Example:
        >>> share(1, 5000, "row"), share(1, 1, "row")
        ('1 of 5,000 sampled rows', '1 of 1 sampled row')
    """
    return f"{part:,} of {whole:,} sampled {thing}{'' if whole == 1 else 's'}"
