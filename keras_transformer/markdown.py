"""Tables and code in Markdown."""


def table(head, rows, numbers=False):
    """Returns a table.

    Args:
        head: Tuple of the cells of the first row.
        rows: List of tuples of cells.
        numbers: Whether to align all columns but the first to the right.
            Defaults to False.
    """
    rule = ["---"] + ["---:" if numbers else "---"] * (len(head) - 1)
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(value):
    """Returns a value as code that does not end the cell of a table."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"


def block(lines):
    """Returns lines as a block of plain text."""
    return "\n".join(["```text", *lines, "```"])
