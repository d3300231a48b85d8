"""What can go wrong, as exceptions; all of them are a DavitError."""
from typing import Optional, Sequence

from .types import Request, RequestReply


class DavitError(Exception):
    """`status`: the class of the error ("INVALID"); `where`: the part of the
    input it is about, ""; `allowed`: what would have been right, if known."""

    def __init__(self, text: str, status: str = "", where: str = "", allowed: Sequence[str] = ()) -> None:
        super().__init__(f"{where}: {text}" if where else text)
        self.text, self.status, self.where, self.allowed = text, status, where, tuple(allowed)


class Invalid(DavitError):
    """What was asked is wrong."""


class Denied(DavitError):
    """No token, a wrong one, or no right to do this."""


class NotFound(DavitError):
    """No such node or owner."""


class Busy(DavitError):
    """Davit is starting, stopping, or has too much to do: ask again."""

    retry_after: Optional[float] = None  # seconds


class Failed(DavitError):
    """Davit answered with something that is no answer."""


class Unreachable(DavitError):
    """Nobody answers at the address."""


class Infeasible(DavitError):
    """No node type could ever hold all that was asked for."""

    def __init__(self, request: RequestReply) -> None:
        super().__init__(request["text"], "INFEASIBLE")
        self.request = request


class NotInTime(DavitError):
    """Not all was ready in time; the request stands."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"not ready in time: {request['text']}", "NOT_IN_TIME")
        self.request = request
