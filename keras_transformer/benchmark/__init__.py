"""How fast this package is on a machine, in figures that can be compared."""
