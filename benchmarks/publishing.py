"""What a benchmark leaves: its numbers as JSON, its tables as markdown and on the screen."""

from pathlib import Path
from typing import Any

from phaser.core.files import write_json, write_text


def publish(out: Path, name: str, found: dict[str, Any], tables: str) -> None:
    write_json(out / f"{name}.json", found)
    write_text(out / f"{name}.md", tables)
    print(tables)
