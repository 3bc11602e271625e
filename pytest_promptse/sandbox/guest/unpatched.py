# ruff: noqa: E401, F401, I001 - a list of names
"""The modules of the standard library, and the built-ins, as they were before any test.

A check may patch ``json.dumps``, ``os.read``, ``time.monotonic`` or ``len``. The plugin takes
modules from here, so that its own work beside the check does not change. The state of a module,
such as ``sys.stdout`` and ``os.environ``, is read from the module itself.
"""

import builtins
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast, asyncio, atexit, contextlib, copy, ctypes, dataclasses, dis, enum, errno
    import faulthandler, fcntl, functools, gc, gzip, hashlib, importlib, inspect, io, itertools
    import json, linecache, logging, marshal, math, operator, os, random, re, resource, select
    import shutil, signal, socket, sqlite3, stat, struct, subprocess, threading, time, traceback
    import types
else:

    def __getattr__(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return globals().setdefault(name, SimpleNamespace(**vars(import_module(name))))


__builtins__ = {**vars(builtins)}  # type: ignore[assignment]
"""Functions of a module that imports this name find their built-ins here."""
