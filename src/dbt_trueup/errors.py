"""The errors of trueup's Python side. `TrueupError` is the base class of all of them."""

from __future__ import annotations


class TrueupError(RuntimeError):
    """The base class. The message says what is required and what was given."""


class JavaMissingError(TrueupError):
    """Spark cannot start: there is no Java, or the one that was found is too old."""


class JvmStartError(TrueupError):
    """Java was found, but Spark did not start in it."""


class LostRaceError(TrueupError):
    """Another run committed first. This statement wrote nothing."""


class RaisedError(TrueupError):
    """A statement raised an error with `raise_error`. The message is its text."""


class ArgumentsError(TrueupError):
    """Spark cannot read the SQL in the arguments of `trueup.commands`."""


class StorageError(TrueupError):
    """A file, a disk or the catalog cannot be read or written."""


class CatalogMissingError(TrueupError):
    """The file of a SQLite catalog is missing, and the tables that it lists are not."""


class GrantsError(TrueupError):
    """A model has the config `grants`, but the engine has no such statement."""


class SparkStoppedError(TrueupError):
    """The Spark session of this process has stopped, and cannot start again."""


class UsageError(TrueupError):
    """`trueup` has nothing to run: a wrong option, no project, or no selected model."""


class DbtError(TrueupError):
    """A command of dbt failed. The message is dbt's own, in one line."""


class LandError(TrueupError):
    """Messages cannot be landed: a library is not there."""


class SourceError(LandError):
    """Messages cannot be landed now: the source does not answer."""


class ExpectationsError(TrueupError):
    """A collection cannot be checked: something is not installed, or the collection is missing."""


class InvalidArraysError(TrueupError, ValueError):
    """Arrays given to an aggregate have a null or differ in length."""


class SumOverflowError(TrueupError, OverflowError):
    """The diffs are so large that a sum may exceed 64 bits."""


class ConsolidationError(TrueupError, ValueError):
    """The updates of a key do not add up to one value or none, or some of them are missing."""
