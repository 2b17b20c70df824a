"""Drawn examples are the same in every run: a failure is then the change's, never the day's.

`--hypothesis-profile=full` draws many more; `--hypothesis-profile=explore` draws new ones each time.
"""

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True)
settings.register_profile("full", deadline=None, derandomize=True, max_examples=1000)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("house")
