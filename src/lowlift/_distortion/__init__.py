"""The channel that changes least: a linear program over pairs of symbols, and its proof."""
