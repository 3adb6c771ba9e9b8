"""`nuc completion`: what a shell needs to complete commands, options, configurations and scripts."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from nuc_engine.cli.terminal.output import say
from nuc_engine.cli.terminal.params import NucCommand


class _Bash(BashComplete):
    def source(self) -> str:
        """Return the script without looking for a bash to ask for its version."""
        return ShellComplete.source(self)


_SHELLS: dict[str, tuple[type[ShellComplete], str]] = {
    "bash": (_Bash, "nuc completion bash >> ~/.bashrc"),
    "zsh": (ZshComplete, "nuc completion zsh >> ~/.zshrc   (after compinit)"),
    "fish": (FishComplete, "nuc completion fish > ~/.config/fish/completions/nuc.fish"),
}


@click.command(
    cls=NucCommand,
    examples=(
        ('eval "$(nuc completion bash)"', "complete in this shell, from now on"),
        ("nuc completion bash >> ~/.bashrc", "in every new bash"),
        ("nuc completion fish > ~/.config/fish/completions/nuc.fish", "in every new fish"),
    ),
    output=("The script to stdout; the comment at its beginning says how to keep it.",),
)
@click.argument("shell", metavar="bash|zsh|fish", type=click.Choice(list(_SHELLS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print the completion script of a shell. CONFIG and SCRIPT complete to what can be named here, or to files."""
    kind, install = _SHELLS[shell]
    script = kind(ctx.find_root().command, {}, "nuc", "_NUC_COMPLETE").source()
    lines = script.strip().splitlines()
    # zsh looks for `#compdef` in the first line of a file it loads by itself.
    lines.insert(1 if lines[0].startswith("#compdef") else 0, f"# to keep it: {install}")
    say("\n".join(lines))
    return 0
