"""How hypothesis runs: "fast", the default, the same examples every time; "long" for `make fuzz`.

Choose by ``pytest --hypothesis-profile=long``. A test with its own number of examples keeps it.
"""

from hypothesis import settings

settings.register_profile("fast", derandomize=True, deadline=None, database=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=1000, print_blob=True)
settings.load_profile("fast")
