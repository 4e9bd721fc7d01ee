"""The words around an instruction, as each backbone was trained to read them."""

from __future__ import annotations

OPENVLA = "In: What action should the robot take to {instruction}?\nOut:"
STARVLA = (
    "Your task is {instruction}. To identify the key objects for your task. Locate their bounding "
    "boxes in [x1,y1,x2,y2] format."
)
ACTION_MARK = "🔍"
ACTION_REQUEST = " Please predict the next {count} robot actions: <action>{marks}<action>."

BEGIN, END = "<|im_start|>", "<|im_end|>"
VISION_BEGIN, VISION_END = "<|vision_start|>", "<|vision_end|>"
IMAGE, VIDEO = "<|image_pad|>", "<|video_pad|>"
PADDING = "<|endoftext|>"


def openvla_prompt(instruction: str) -> str:
    """OpenVLA's question, with the instruction in lower case."""
    return OPENVLA.format(instruction=instruction.lower())


def starvla_prompt(instruction: str, *, template: str = STARVLA, num_marks: int = 0) -> str:
    """The text of a starVLA backbone.

    Args:
        instruction: The task in words.
        template: Text with `{instruction}` in it.
        num_marks: Places at which actions are read off; they become part of the instruction.
    """
    if num_marks:
        instruction += ACTION_REQUEST.format(count=num_marks, marks=ACTION_MARK * num_marks)
    return template.replace("{instruction}", instruction)


def qwen_chat(text: str, *, image_tokens: int, num_images: int) -> str:
    """One turn of Qwen's chat: the default system line, the images, the text, and the answer's
    beginning."""
    image = f"{VISION_BEGIN}{IMAGE * image_tokens}{VISION_END}"
    return (
        f"{BEGIN}system\nYou are a helpful assistant.{END}\n"
        f"{BEGIN}user\n{image * num_images}{text}{END}\n{BEGIN}assistant\n"
    )
