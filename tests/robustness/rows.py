"""The rows of the table: one malformed input of one command each."""

import dataclasses
import shlex

BAD_INPUT = 2
CPU_SECONDS = 3.0  # of a refusal that needs no TensorFlow


@dataclasses.dataclass(frozen=True)
class Row:
    """A command line, what is wrong around it, and what has to happen.

    In the command, the damages and the paths, `{name}` stands for a copy of the
    template of this name and `{box}` for the directory that holds the copies.
    """

    command: str  # such as "kt-decoder --output_dir={run}"
    damages: tuple = ()  # `damage.Damage`s, done in this order
    says: tuple = ()  # words of the message
    status: int = BAD_INPUT  # exit status; only 2 has a message
    stdin: bytes = b""
    before: str = ""  # words of what may stand above the message
    writes: tuple = ()  # patterns of files that may appear or change
    prints: str = ""  # words of standard output
    variables: tuple = ()  # pairs of an environment variable and its value
    shell: str = ""  # redirections or a pipe, such as ">&-" or "| head -1"
    limits: str = ""  # shell commands before the command, such as ulimit
    signal: tuple = ()  # number, and the words or the seconds to wait for
    beside: str = ""  # a command that is running meanwhile
    until: str = ""  # words on the standard error of `beside` to wait for
    silent: bool = False  # whether standard error stays empty
    traceback: bool = False  # whether the user's own code shows its traceback
    user: bool = False  # whether permissions count even if root runs the test
    apart: bool = False  # whether the row needs a process of its own
    cpu_seconds: float = CPU_SECONDS

    @property
    def name(self):
        return shlex.split(self.command)[0]

    @property
    def needs_process(self):
        return self.apart or any(
            (self.user, self.shell, self.limits, self.signal, self.beside)
        )

    def __str__(self):
        parts = [self.command, self.limits, self.shell, self.beside]
        parts += [f"{name}={value}" for name, value in self.variables]
        parts += [str(self.signal)] if self.signal else []
        parts += map(str, self.damages)
        if self.stdin:
            parts.append(f"stdin {self.stdin[:20]!r}")
        return " ".join(" ".join(filter(None, parts)).split())


def row(command, *damages, says=(), **options):
    """Returns a row; single texts and values stand for tuples of one."""
    for name in ("writes",):
        if isinstance(options.get(name), str):
            options[name] = (options[name],)
    if "variables" in options:
        options["variables"] = tuple(options["variables"].items())
    says = (says,) if isinstance(says, str) else tuple(says)
    return Row(command, damages, says, **options)


def accepted(command, *damages, **options):
    """Returns a row of an odd input that the command has to cope with."""
    return row(command, *damages, status=0, **options)
