"""Flags that put a vision-language model behind `phaser segment`."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from pathlib import Path

from phaser.cli.arguments import Parser, positive
from phaser.core.errors import BadInput
from phaser.core.folders import cache_folder
from phaser.phases.transcripts import Transcripts
from phaser.phases.verify import Verifier
from phaser.phases.vlm import Spending, Vlm
from phaser.phases.vlm_server import KEY_VARIABLE, VlmServer

NO_MODEL = "none"
MAX_CALLS, MAX_TOKENS = Spending().max_calls, Spending().max_tokens
_NOWHERE = "http://offline.invalid/v1"
_ONLY_WITH_MODEL = ("vlm_url", "max_calls", "max_tokens", "offline", "transcripts", "media")


def add_verifier_flags(parser: Parser) -> None:
    """All default to nothing, so that a flag without a model is noticed."""
    group = parser.add_argument_group(
        "verification by a vision-language model",
        f"Any OpenAI-compatible server. A key is taken from {KEY_VARIABLE}, never from a flag.",
    )
    group.add_argument(
        "--verify", metavar="MODEL", default=NO_MODEL, help="the model's name (default: none)"
    )
    group.add_argument("--vlm-url", metavar="URL", help="such as http://localhost:11434/v1")
    group.add_argument(
        "--max-calls", type=_limit, metavar="N", help=f"requests at most (default: {MAX_CALLS})"
    )
    group.add_argument(
        "--max-tokens", type=_limit, metavar="N", help=f"tokens at most (default: {MAX_TOKENS})"
    )
    group.add_argument(
        "--offline", action="store_true", default=None, help="answers kept earlier only"
    )
    group.add_argument(
        "--transcripts", type=Path, metavar="DIR", help="where answers are kept (default: cache)"
    )
    group.add_argument(
        "--media", choices=("images", "video"), help="what is sent (default: images)"
    )
    group.add_argument(
        "--max-frames", type=positive, default=48, metavar="N", help="frames sent (default: 48)"
    )
    group.add_argument(
        "--vlm-timeout", type=positive, default=120, metavar="S", help="seconds (default: 120)"
    )
    group.add_argument(
        "--vlm-temperature",
        type=_temperature,
        default=0.0,
        metavar="X",
        help="default: 0; 'model' leaves it out, for models that take no other than their own",
    )
    group.add_argument(
        "--vlm-limit-field",
        choices=("max_tokens", "max_completion_tokens"),
        default="max_tokens",
        help="how this server calls the limit of an answer",
    )


def verifier_from(chosen: Namespace) -> Verifier | None:
    """The verifier that was asked for; nothing without a model."""
    if chosen.verify == NO_MODEL:
        given = [name for name in _ONLY_WITH_MODEL if getattr(chosen, name) is not None]
        if given:
            flag = f"--{given[0].replace('_', '-')}"
            raise BadInput(f"{flag} is for a model, but none verifies; name one with --verify")
        return None
    if chosen.vlm_url is None and not chosen.offline:
        raise BadInput(
            f"--verify {chosen.verify} needs the address of its server: --vlm-url, such as "
            "http://localhost:11434/v1 (or --offline, to use answers kept earlier)"
        )
    server = VlmServer(
        url=chosen.vlm_url or _NOWHERE,
        model=chosen.verify,
        timeout_s=float(chosen.vlm_timeout),
        temperature=chosen.vlm_temperature,
        answer_limit_field=chosen.vlm_limit_field,
    )
    spending = Spending(
        max_calls=MAX_CALLS if chosen.max_calls is None else chosen.max_calls,
        max_tokens=MAX_TOKENS if chosen.max_tokens is None else chosen.max_tokens,
    )
    vlm = Vlm(
        server=server,
        transcripts=Transcripts(chosen.transcripts or cache_folder() / "vlm"),
        spending=spending,
        offline=bool(chosen.offline),
    )
    return Verifier(
        vlm=vlm,
        camera=chosen.camera,
        max_frames=chosen.max_frames,
        media=chosen.media or "images",
    )


def _limit(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _temperature(text: str) -> float | None:
    if text == "model":
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        raise ArgumentTypeError(f"{text!r} is not a number from 0 to 2, nor 'model'")
    return value
