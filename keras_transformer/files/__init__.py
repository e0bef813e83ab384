"""Files and directories: complete writing, locks, and checked reading."""
