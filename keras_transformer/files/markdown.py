"""Tables and code in Markdown."""


def table(head, rows, numbers=False):
    """Returns a table; `numbers` right-aligns all columns but the first."""
    rule = ["---"] + ["---:" if numbers else "---"] * (len(head) - 1)
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(value):
    """Returns a value as code that is safe inside the cell of a table."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"
