"""`phaser lerobot-train`: LeRobot's own training script, with rehearsal of earlier datasets."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phaser.cli.arguments import Parser, budgets_in, positive, share_given, steps, whole_numbers
from phaser.cli.text_table import columns
from phaser.core.demonstration import ActionLayout
from phaser.core.errors import BadInput
from phaser.core.processes import is_first_process
from phaser.integrations.lerobot.plan import OUTPUT, check_words
from phaser.integrations.lerobot.settings import ALL_SO_FAR, DEFAULT_BUDGET, FIRST, Rehearsal
from phaser.integrations.lerobot.sources import sources_of
from phaser.integrations.lerobot.words import RESUME, STREAM, Words, taken_apart, value_of
from phaser.memory.budget import Budget
from phaser.memory.codec_names import DEFAULT_CODEC

USAGE = """phaser lerobot-train --stream DATASET … [--replay.… …] [LeRobot's flags]
       phaser lerobot-train --replay.folder DIR [--replay.… …] [LeRobot's flags]"""
DESCRIPTION = """\
LeRobot's own lerobot-train, with rehearsal: a policy learns datasets one after
another and keeps what it has learnt. Every flag that is not named here is
LeRobot's and is passed on unchanged.
"""
EPILOG = """\
--stream learns its datasets in order; each starts from the policy of the one
before. The output of each is a folder in --output_dir, the memory in
--output_dir/memory. The same command with --resume=true goes on where it was
killed, also with more datasets at the end.

Without --stream it is one run for one dataset, with LeRobot's own flags
(--dataset.repo_id, --policy.path, --resume, --config_path), and a memory that
the runs share.

  phaser lerobot-train --stream me/pick me/stack --policy.type=act \\
    --policy.push_to_hub=false --steps=20000 --output_dir=out

  accelerate launch --multi_gpu --num_processes=2 $(which phaser) lerobot-train …
"""


def execute(arguments: Sequence[str]) -> int:
    words = taken_apart(arguments)
    parser = _parser()
    if {"-h", "--help"} & set(words.theirs):
        parser.print_help()
        return 0
    chosen = parser.parse(words.own)
    return _stream(chosen, words) if chosen.stream else _single(chosen, words)


def _stream(chosen: Namespace, words: Words) -> int:
    from phaser.integrations.lerobot.running import Stream

    if chosen.name:
        raise BadInput("--replay.name is for one dataset; with --stream each has a name already")
    sources = sources_of(chosen.stream, chosen.env_tasks or ())
    check_words(words.theirs, num_datasets=len(sources))
    output = value_of(words.theirs, OUTPUT)
    if not output:
        raise BadInput(f"where to? Give {OUTPUT}, a folder for the whole stream")
    settings = _settings(chosen, chosen.folder or Path(output) / "memory")
    stream = Stream(
        settings=settings,
        sources=sources,
        theirs=words.theirs,
        output=Path(output),
        resume=words.resume,
    )
    if stream.learn_next():
        stream.go_on([*words.own, *words.theirs])
    return _tell(settings)


def _single(chosen: Namespace, words: Words) -> int:
    from phaser.integrations.lerobot.running import train_one

    if chosen.folder is None:
        raise BadInput(
            f"which datasets? Give {STREAM} with several in order, or --replay.folder, the memory "
            "that the runs of single datasets share"
        )
    settings = _settings(chosen, chosen.folder)
    resume = [f"{RESUME}=true"] if words.resume else []
    train_one(settings, [*words.theirs, *resume], name=chosen.name)
    return _tell(settings)


def _tell(settings: Rehearsal) -> int:
    """Write the page, and say what was measured."""
    from phaser.integrations.lerobot.running import leave

    if is_first_process():
        from phaser.integrations.lerobot import page

        tables = {
            "held-out loss": page.loss_table(*page.read_stream(settings.folder)),
            "success in simulation": page.success_table(settings.folder),
        }
        for title, (headings, rows) in tables.items():
            if rows:
                lines = columns([headings, *rows], right=range(1, len(headings)))
                print("\n".join(["", title, *lines]))
        print(f"\nreport: {page.write_page(settings.folder).resolve()}", flush=True)
    leave()
    return 0


def _settings(chosen: Namespace, folder: Path) -> Rehearsal:
    return Rehearsal(
        folder=folder,
        method=chosen.method,
        budget=(budgets_in(chosen) or [Budget.per_task(DEFAULT_BUDGET)])[0],
        codec=chosen.codec,
        share=chosen.share,
        layout=_layout(chosen),
        phases=chosen.phases,
        seed=chosen.seed,
        statistics=chosen.statistics,
        held_out=chosen.held_out,
        held_out_frames=chosen.held_out_frames,
        cameras=None if chosen.cameras is None else tuple(x for x in chosen.cameras if x != "none"),
        rollouts=chosen.rollouts,
        instruction=chosen.instruction,
    )


def _layout(chosen: Namespace) -> ActionLayout | str | None:
    if not chosen.motion:
        if chosen.gripper or chosen.absolute:
            raise BadInput("--replay.gripper and --replay.absolute need --replay.motion as well")
        return str(chosen.layout) if chosen.layout else None
    if chosen.layout:
        raise BadInput("--replay.layout names all dimensions; leave out --replay.motion")
    return ActionLayout(
        motion=whole_numbers(chosen.motion, flag="--replay.motion"),
        gripper=whole_numbers(chosen.gripper or [], flag="--replay.gripper"),
        convention="absolute" if chosen.absolute else "delta",
    )


def _parser() -> Parser:
    parser = Parser("lerobot-train", DESCRIPTION, usage=USAGE, epilog=EPILOG)
    parser.add_argument(
        STREAM, nargs="+", metavar="DATASET", help="repository names or folders, in order"
    )
    budgets = parser.add_mutually_exclusive_group()
    for name, options in _FLAGS.items():
        group = budgets if name.startswith("budget") else parser
        group.add_argument(f"--replay.{name}", dest=name.replace("-", "_"), **options)
    return parser


_FLAGS: dict[str, dict[str, Any]] = {
    "folder": {"type": Path, "metavar": "DIR", "help": "the memory (default: in --output_dir)"},
    "method": {
        "default": "phaser",
        "metavar": "NAME",
        "help": "of phaser methods (default: phaser); sequential keeps and rehearses nothing",
    },
    "budget": {
        "type": positive,
        "metavar": "N",
        "help": f"frames kept of each dataset (default: {DEFAULT_BUDGET})",
    },
    "budget-per-phase": {"type": positive, "metavar": "N", "help": "instead: of each phase"},
    "budget-bytes": {"type": positive, "metavar": "N", "help": "instead: encoded bytes of each"},
    "budget-total": {"type": positive, "metavar": "N", "help": "instead: frames in all"},
    "budget-total-bytes": {"type": positive, "metavar": "N", "help": "instead: bytes in all"},
    "share": {
        "type": share_given,
        "default": 0.5,
        "metavar": "SHARE",
        "help": "share of a batch that is rehearsed (default: 0.5)",
    },
    "codec": {
        "default": DEFAULT_CODEC,
        "metavar": "NAME",
        "help": f"how images are stored: {DEFAULT_CODEC} (default), webp-lossless, h264:90 (clips)",
    },
    "layout": {
        "metavar": "NAME",
        "help": "what the numbers of an action do, by name (default: as the dataset's names say)",
    },
    "motion": {"nargs": "+", "metavar": "D", "help": "instead: dimensions that move the arm"},
    "gripper": {"nargs": "+", "metavar": "D", "help": "and those of the gripper"},
    "absolute": {"action": "store_true", "help": "actions are targets, not changes"},
    "phases": {
        "metavar": "FILE",
        "help": "phases from a stage_info.json, or `dataset`: as the dataset has them (default: "
        "Auto-PC, from the actions)",
    },
    "cameras": {
        "nargs": "+",
        "metavar": "KEY",
        "help": "images that tell phases apart (default: all); none: instruction and motion alone",
    },
    "statistics": {
        "default": ALL_SO_FAR,
        "metavar": "WHICH",
        "help": f"normalisation: {ALL_SO_FAR} (default: of all datasets so far), {FIRST}, or a "
        "FILE like a dataset's meta/stats.json",
    },
    "held-out": {
        "type": share_given,
        "default": 0.1,
        "metavar": "SHARE",
        "help": "episodes at the end of each dataset that are only measured (default: 0.1)",
    },
    "held-out-frames": {
        "type": positive,
        "default": 64,
        "metavar": "N",
        "help": "the most measured frames of a phase (default: 64)",
    },
    "env-tasks": {
        "nargs": "+",
        "metavar": "TASK",
        "help": "with --env.type: the --env.task of each dataset of --stream",
    },
    "rollouts": {
        "type": steps,
        "metavar": "N",
        "help": "of each learnt dataset with an environment, after each task (default: "
        "--eval.n_episodes; 0: none)",
    },
    "seed": {"type": steps, "default": 0, "metavar": "S", "help": "of draws (default: 0)"},
    "name": {"metavar": "NAME", "help": "one dataset: its name in the memory"},
    "instruction": {
        "metavar": "TEXT",
        "help": "words for a dataset that has none, or several tasks that shall be one",
    },
}
