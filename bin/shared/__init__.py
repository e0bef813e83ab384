"""What the commands share: flags, help, errors, signals and streams."""
