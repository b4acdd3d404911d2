"""Parts of a field that are built when they are first looked at.

A schema may have thousands of properties, or refer back to itself without end; a form shows a screenful.
So a field holds the way to make its parts, and whoever reads `member.field` does not see the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class OnDemand(Generic[T]):
    """A dataclass attribute given as a value, or as a function that creates it once.

    A dataclass with such an attribute must compare and print without it (`eq=False, repr=False`): its parts
    may be infinite.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._key = f"_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> OnDemand[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> T | OnDemand[T]:
        if instance is None:
            raise AttributeError(self._key)  # so that dataclass sees no default value
        value: T | Callable[[], T] = instance.__dict__[self._key]
        if callable(value):
            value = instance.__dict__[self._key] = value()
        return value

    def __set__(self, instance: object, value: T | Callable[[], T]) -> None:
        instance.__dict__[self._key] = value
