"""The question put to a vision-language model: frames, candidates and the rules of the answer.

What identifies a request is its meaning (model, texts, pixels of the frames, form of the answer),
not the server or the bytes an image library happened to write; so transcripts replay anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources
from string import Template
from typing import Any, Literal

from phaser.core.errors import BadInput
from phaser.phases.candidates import Candidate
from phaser.phases.verify_answer import VERBS, AnswerRules
from phaser.phases.vlm_frames import DRAWING_VERSION, Frame, as_jpeg, as_mp4

Media = Literal["images", "video"]
_MAX_INSTRUCTION = 1000
_MAX_QUOTED_ANSWER = 8000
_CHARACTERS_PER_TOKEN = 2.5
_TOKENS_PER_FRAME = 400


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Request:
    """One question, or the second one that quotes the first answer and its violations."""

    model: str
    system: str
    user: str
    frames: tuple[Frame, ...]
    media: Media
    max_answer_tokens: int
    previous: tuple[tuple[str, str], ...] = ()
    """Earlier answers, each with the message that asks to mend it."""

    def described(self) -> dict[str, Any]:
        """All that identifies the request, readable; pixels by their hash."""
        frames = [{"step": one.step, "pixels_sha256": _pixels_sha256(one)} for one in self.frames]
        return {
            "model": self.model,
            "system": self.system,
            "user": self.user,
            "frames": frames,
            "media": self.media,
            "drawing": DRAWING_VERSION,
            "max_answer_tokens": self.max_answer_tokens,
            "previous": [{"answer": answer, "asked": asked} for answer, asked in self.previous],
        }

    def key(self) -> str:
        text = json.dumps(self.described(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def again(self, answer: str, violations: Sequence[str]) -> Request:
        """The same question with the answer that failed and why."""
        listed = "\n".join(f"- {sentence}" for sentence in violations)
        asked = _template("verify_again.txt").substitute(violations=listed)
        # An answer of any length is quoted only as far as it can help.
        quoted = answer[:_MAX_QUOTED_ANSWER]
        return replace(self, previous=(*self.previous, (quoted, asked)))

    def messages(self) -> list[dict[str, Any]]:
        """In the form of the chat completions interface, frames included."""
        content: list[dict[str, Any]] = [{"type": "text", "text": self.user}]
        if self.media == "video":
            url = _data_url("video/mp4", as_mp4(self.frames))
            content.append({"type": "video_url", "video_url": {"url": url}})
        else:
            for frame in self.frames:
                url = _data_url("image/jpeg", as_jpeg(frame))
                content.append({"type": "image_url", "image_url": {"url": url}})
        found: list[dict[str, Any]] = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": content},
        ]
        for answer, asked in self.previous:
            found.append({"role": "assistant", "content": answer})
            found.append({"role": "user", "content": asked})
        return found

    def estimated_tokens(self) -> int:
        """Upper estimate of what the request and the longest answer cost; servers differ."""
        texts = [self.system, self.user, *(part for pair in self.previous for part in pair)]
        characters = sum(len(text.encode()) for text in texts)
        frames = _TOKENS_PER_FRAME * len(self.frames)
        return int(characters / _CHARACTERS_PER_TOKEN) + frames + self.max_answer_tokens


def build_request(
    *,
    model: str,
    instruction: str,
    candidates: Sequence[Candidate],
    frames: tuple[Frame, ...],
    num_frames: int,
    rules: AnswerRules,
    media: Media,
    max_answer_tokens: int,
) -> Request:
    """The first question about one task."""
    if len(instruction) > _MAX_INSTRUCTION:
        raise BadInput(
            f"an instruction of {len(instruction)} characters; expected at most {_MAX_INSTRUCTION}"
        )
    shown = "They are shown in order" if media == "images" else "The video shows"
    user = _template("verify_user.txt").substitute(
        # As a JSON string the task cannot leave its line and pose as part of the rules.
        instruction=json.dumps(instruction, ensure_ascii=True),
        num_frames=num_frames,
        last_step=num_frames - 1,
        frames_sentence=_frames_sentence(shown, len(frames)),
        candidates=_listed(candidates),
        max_shift=rules.max_shift,
        max_inserted=rules.max_inserted,
        min_phases=rules.min_phases,
        max_phases=rules.max_phases,
        min_phase_frames=rules.min_phase_frames,
        max_name=rules.max_name,
        verbs=", ".join(VERBS),
    )
    return Request(
        model=model,
        system=_template("verify_system.txt").substitute(),
        user=user,
        frames=frames,
        media=media,
        max_answer_tokens=max_answer_tokens,
    )


def answer_schema() -> dict[str, Any]:
    """The form of an answer as a JSON Schema, for servers that can hold a model to one."""
    whole = {"type": "integer"}
    text = {"type": "string"}
    ratio = {"type": "number"}
    action = {"type": "string", "enum": ["accept", "relocate", "reject"]}
    new_step = {"type": ["integer", "null"]}
    decision = _object({"id": text, "action": action, "new_t": new_step, "reason": text})
    inserted = _object({"t": whole, "reason": text})
    phase = _object({"name": text, "start_ratio": ratio, "end_ratio": ratio})
    lists = {"decisions": decision, "vlm_inserted": inserted, "phases": phase}
    return _object({name: {"type": "array", "items": one} for name, one in lists.items()})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _listed(candidates: Sequence[Candidate]) -> str:
    lines = [
        f"C{number}: t={one.step}  evidence={','.join(sorted(one.evidence)) or 'none'}  "
        f"score={one.score:.2f}"
        for number, one in enumerate(candidates, start=1)
    ]
    return "\n".join(lines) or "(none)"


def _frames_sentence(shown: str, count: int) -> str:
    return f"{count} of them were chosen. {shown}: more of them around the moments listed below."


def _template(name: str) -> Template:
    folder = resources.files("phaser.phases") / "templates"
    return Template((folder / name).read_text(encoding="utf-8"))


def _pixels_sha256(frame: Frame) -> str:
    shape = "x".join(str(side) for side in frame.pixels.shape)
    return hashlib.sha256(shape.encode() + frame.pixels.tobytes()).hexdigest()


def _data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
