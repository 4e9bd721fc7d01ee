"""The datasets of a stream: repository names or folders, each with a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from phaser.core.errors import BadInput

REPO_ID, ROOT, ENV_TASK = "--dataset.repo_id", "--dataset.root", "--env.task"
_INFO = Path("meta") / "info.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One dataset as LeRobot names it, and the name of its task."""

    name: str
    repo_id: str
    root: str | None = None
    """Its folder; None means where LeRobot keeps what it has fetched."""
    env_task: str | None = None
    """The task of LeRobot's environment in which it is rolled out."""

    @property
    def flags(self) -> list[str]:
        """The flags that make LeRobot open it."""
        root = [f"{ROOT}={self.root}"] if self.root else []
        env = [f"{ENV_TASK}={self.env_task}"] if self.env_task else []
        return [f"{REPO_ID}={self.repo_id}", *root, *env]


def sources_of(given: Sequence[str], env_tasks: Sequence[str] = ()) -> tuple[Source, ...]:
    """The datasets of `--stream`, in order; each may be named once.

    env_tasks: the task of LeRobot's environment for each of them, or nothing.
    """
    if env_tasks and len(env_tasks) != len(given):
        raise BadInput(
            f"--replay.env-tasks names {len(env_tasks)} tasks for {len(given)} datasets; expected "
            "one for each, in the same order"
        )
    found: list[Source] = []
    for text in given:
        source = _source(text)
        if any((one.repo_id, one.root) == (source.repo_id, source.root) for one in found):
            raise BadInput(f"--stream names {text} twice; expected every dataset once")
        if any(one.name == source.name for one in found):
            source = Source(
                name=_longer_name(text, [one.name for one in found]),
                repo_id=source.repo_id,
                root=source.root,
            )
        found.append(source)
    tasks: Sequence[str | None] = env_tasks or [None] * len(found)
    return tuple(replace(one, env_task=task) for one, task in zip(found, tasks, strict=True))


def _source(text: str) -> Source:
    path = Path(text)
    if (path / _INFO).is_file():
        folder = path.resolve()
        return Source(name=folder.name, repo_id=f"local/{folder.name}", root=str(folder))
    owner, _, name = text.partition("/")
    if path.exists() or not owner or not name or "/" in name or text.startswith((".", "~")):
        raise BadInput(
            f"--stream {text}: no dataset folder (it has no {_INFO}) and no repository name "
            "such as lerobot/pusht"
        )
    return Source(name=name, repo_id=text)


def _longer_name(text: str, taken: Sequence[str]) -> str:
    """Parent and name together; a number where that is taken too."""
    path = Path(text).resolve() if Path(text).exists() else Path(text)
    base = f"{path.parent.name}-{path.name}"
    number, name = 2, base
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name
