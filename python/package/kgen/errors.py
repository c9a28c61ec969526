"""Exceptions. All can be pickled, so that they survive process pools of trainers."""

from __future__ import annotations

from typing import Any


class Error(Exception):
    """Base of all errors of this package."""


class ApiError(Error):
    """The server refused a request.

    Attributes: `status` (of HTTP), `kind` and `text` as the contract lists them, `field` (the wrong member)
    and `hint` (the likely meaning), the last two where they are known.
    """

    def __init__(self, status: int, kind: str, text: str, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(status, kind, text, field, hint)
        self.status, self.kind, self.text, self.field, self.hint = status, kind, text, field, hint

    def __str__(self) -> str:
        where = f", member `{self.field}`" if self.field else ""
        meant = f"; hint: {self.hint}" if self.hint else ""
        return f"{self.text} ({self.status} {self.kind}{where}{meant})"


class InfraError(Error):
    """The machine failed. It says nothing about the kernel: no reward may be made of it.

    Attributes: `kind` (`worker`, `device`, `unsupported`, ...), `text`, and `retryable`, whether the same
    request may succeed later.
    """

    def __init__(self, kind: str, text: str, retryable: bool) -> None:
        super().__init__(kind, text, retryable)
        self.kind, self.text, self.retryable = kind, text, retryable

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


class DeadlineError(InfraError):
    """The job's `deadline_s` (kind `deadline`) or the caller's `timeout` (kind `timeout`) was over first.

    After a `timeout` the job goes on in the server: an equal request finds it.
    """


class UnreachableError(Error):
    """No answer came from the server."""


class BinaryNotFoundError(Error):
    """The program `kgen` was not found."""


class CommandError(Error):
    """The program `kgen` failed.

    Attributes: `exit_code`, `kind`, `text`, `hints` (ways out) and `data` (results so far, or None), as the
    documents of `--format json` have them.
    """

    def __init__(self, exit_code: int, kind: str, text: str, hints: tuple[str, ...] = (), data: Any = None) -> None:
        super().__init__(exit_code, kind, text, hints, data)
        self.exit_code, self.kind, self.text, self.hints, self.data = exit_code, kind, text, hints, data

    def __str__(self) -> str:
        return "; ".join([self.text, *(f"hint: {hint}" for hint in self.hints)])
