"""Libraries that only some commands of `trueup` need. They are extras of the package."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .errors import TrueupError


def require_library(module: str, requirement: str, needs: str, error: type[TrueupError]) -> None:
    """Check that a library is installed.

    Args:
        module: Its module.
        requirement: What pip installs, such as `vl-convert-python~=1.9`.
        needs: What needs the library, and its name: `--prometheus needs prometheus-client`.
        error: The class of the error.

    Raises:
        TrueupError: It is not installed. The message says what to install.
    """
    if find_spec(module) is None:
        message = f'{needs}, but it is not installed.\nRun: pip install "{requirement}"'
        raise error(message)
