"""`phaser completion bash|zsh|fish`: a script that completes verbs, flags, presets and methods."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Mapping, Sequence

from phaser.cli.arguments import Parser

SHELLS = ("bash", "zsh", "fish")
WITH_PRESET = ("run", "grid", "record", "plan")
"""Verbs whose first word is a preset."""
HOW = """\
Add it for good:
  bash  phaser completion bash > ~/.local/share/bash-completion/completions/phaser
  zsh   phaser completion zsh >> ~/.zshrc
  fish  phaser completion fish > ~/.config/fish/completions/phaser.fish
"""
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z.-]*[a-z]")


def execute(arguments: Sequence[str]) -> int:
    parser = Parser("completion", "Print a script that completes words in a shell.", epilog=HOW)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    chosen = parser.parse(arguments)
    print(script(chosen.shell), end="")
    return 0


def script(shell: str) -> str:
    """The script for a shell."""
    from phaser.cli.main import VERBS

    flags = {verb: flags_of(verb) for verb in VERBS if verb != "completion"}
    if shell == "fish":
        return _fish({verb: summary for verb, (_, summary) in VERBS.items()}, flags)
    before = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return before + _bash([*VERBS], flags)


def flags_of(verb: str) -> list[str]:
    """The flags that a verb's help names, and every setting of a run where it takes them."""
    from phaser.cli.main import execute as run_verb
    from phaser.cli.settings import setting_flags
    from phaser.experiments.presets import preset

    shown = io.StringIO()
    with (
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(SystemExit),
    ):
        run_verb([verb, "--help"])
    found = set(_FLAG.findall(shown.getvalue()))
    if verb in ("run", "grid", "record"):
        found |= {*setting_flags(preset("metaworld-10")), "--help-all"}
    return sorted(found | {"--help"})


def _names() -> tuple[str, str]:
    from phaser.experiments.presets import PRESETS
    from phaser.methods.table import METHODS

    return " ".join(PRESETS), " ".join(METHODS)


def _bash(verbs: Sequence[str], flags: Mapping[str, Sequence[str]]) -> str:
    presets, methods = _names()
    cases = "\n".join(f'    {verb}) flags="{" ".join(found)}" ;;' for verb, found in flags.items())
    return f"""\
_phaser() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" flags=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{" ".join(verbs)} --help --version" -- "$current"))
    return
  fi
  case "$previous" in
    --method|--methods) COMPREPLY=($(compgen -W "{methods}" -- "$current")); return ;;
    --preset) COMPREPLY=($(compgen -W "{presets}" -- "$current")); return ;;
    completion) COMPREPLY=($(compgen -W "{" ".join(SHELLS)}" -- "$current")); return ;;
    {"|".join(WITH_PRESET)}) COMPREPLY=($(compgen -W "{presets}" -- "$current")) ;;
  esac
  case "${{COMP_WORDS[1]}}" in
{cases}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
  esac
}}
complete -o default -F _phaser phaser
"""


def _fish(summaries: Mapping[str, str], flags: Mapping[str, Sequence[str]]) -> str:
    presets, methods = _names()
    lines = ["complete -c phaser -f"]
    for verb, summary in summaries.items():
        lines.append(f'complete -c phaser -n __fish_use_subcommand -a {verb} -d "{summary}"')
    for verb, found in flags.items():
        here = f'complete -c phaser -n "__fish_seen_subcommand_from {verb}"'
        lines += [f"{here} -l {flag.removeprefix('--')}" for flag in found]
        if verb in WITH_PRESET:
            lines.append(f'{here} -a "{presets}"')
        if "--method" in found:
            lines.append(f'{here} -l method -x -a "{methods}"')
        if "--methods" in found:
            lines.append(f'{here} -l methods -x -a "{methods}"')
        if verb not in WITH_PRESET:
            lines.append(f"{here} -F")
    shells = " ".join(SHELLS)
    lines.append(f'complete -c phaser -n "__fish_seen_subcommand_from completion" -a "{shells}"')
    return "\n".join(lines) + "\n"
