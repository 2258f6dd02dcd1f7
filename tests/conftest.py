"""The hypothesis profile of every test: the same examples in every run, no deadline."""

from hypothesis import settings

settings.register_profile(
    "lowlift", derandomize=True, deadline=None, database=None, max_examples=100
)
settings.load_profile("lowlift")
