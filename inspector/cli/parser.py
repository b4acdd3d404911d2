"""Argument parser that reports errors in one or two sentences, without the usage text."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import NoReturn

from inspector.base.errors import ConfigError


class Parser(argparse.ArgumentParser):
    """Argument parser that raises ConfigError instead of exiting with code 2."""

    def __init__(self, prog: str, description: str, *, epilog: str = "", usage: str | None = None) -> None:
        super().__init__(
            prog,
            usage,
            description,
            epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # abbreviations in scripts would break when an option is added
        )

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message[:1].upper()}{message[1:]}.", f"See {self.prog} --help.")


def split_command(argv: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """Split off the server's command after the first `--`. Its words are not interpreted."""
    words = list(argv)
    if "--" not in words:
        return words, None
    location = words.index("--")
    return words[:location], words[location + 1 :]


def seconds(text: str) -> float:
    """Parse a time limit in seconds (an argparse `type`)."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds greater than 0")
    return value
