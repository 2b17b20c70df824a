"""The public functions by name, for modules that may not import the package they are parts of: `names.zeros(3)`.

A name is looked up where declarations put it (core.public) and then kept here, so that the next use is a plain global.
"""

from __future__ import annotations

from typing import Any

from chainrule.core.public import PUBLIC

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    found = PUBLIC["f"].get(name) or PUBLIC["n"].get(name)
    if found is None:
        raise AttributeError(f"no public function is called {name!r}")
    globals()[name] = found
    return found
