"""Which outputs keep a bound for every population that a sample leaves possible."""
