"""Imports IPython without what only its terminal and its completion need: half of the time. Whoever
asks for those later gets them."""

import sys
import types

_EMBED = "IPython.terminal.embed"


def _embed(*arguments, **options):
    """IPython.embed(), loaded when it is called."""
    import importlib
    return importlib.import_module(_EMBED).embed(*arguments, **options)


def _load():
    stand_in = types.ModuleType(_EMBED)
    stand_in.embed = _embed
    sys.modules[_EMBED] = stand_in
    sys.modules["jedi"] = None
    try:
        import IPython.core.interactiveshell
        import IPython.core.completer
    finally:
        del sys.modules[_EMBED], sys.modules["jedi"]
    terminal = sys.modules.get("IPython.terminal")
    if terminal and getattr(terminal, "embed", None) is stand_in:
        del terminal.embed


if "IPython" not in sys.modules:
    _load()
