"""IPython's shell, with what it shows going out in frames."""

import asyncio
import builtins
import hashlib
import json
import os
import sys
import types
import warnings

import _sandpit_lean
import IPython.core.interactiveshell as interactiveshell
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.formatters import DisplayFormatter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import _sandpit_chart as chart
import _sandpit_plotly as plotly
import _sandpit_table as table
import _sandpit_windows as windows
import _sandpit_wire as wire

_BINARY = ("image/png", "image/jpeg", "application/pdf")


def _payload(mime, data):
    """A bundle's entry as bytes: images raw, JSON as text."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, str):
        if mime in _BINARY:
            import base64
            return base64.b64decode(data)
        return data.encode("utf-8", "replace")
    return json.dumps(data, default=str).encode("utf-8", "replace")


def _is(obj, module, name):
    """Whether obj is an instance of a class of a module that may not even be loaded."""
    found = sys.modules.get(module)
    kind = getattr(found, name, None)
    return kind is not None and isinstance(obj, kind)


def flush():
    """What was printed goes out before what is said next. The code may have closed its streams."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (ValueError, OSError, AttributeError):
            pass


# Of these nothing but text is shown, unless somebody registers more.
_PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None), list, tuple, dict, set,
                    frozenset))


def _to_png(image):
    """A picture of PIL's. Not every mode has a place in a png: colours do."""
    import io
    stream = io.BytesIO()
    known = image.mode in ("1", "L", "LA", "I", "P", "RGB", "RGBA")
    (image if known else image.convert("RGB")).save(stream, "PNG")
    return stream.getvalue()


class Formatter(DisplayFormatter):
    def __init__(self, **more):
        super().__init__(**more)
        self.formatters["image/png"].for_type_by_name("PIL.Image", "Image", _to_png)

    def _is_plain(self, kind):
        """Whether a value of exactly this type has only its text: asking each of the dozen
        formatters takes longer than all the rest of a small cell."""
        if kind not in _PLAIN:
            return False
        kinds = kind.__mro__
        for mime, one in self.formatters.items():
            if mime != "text/plain" and (
                    any(each in one.type_printers for each in kinds) or
                    one.singleton_printers or one.deferred_printers and any(
                        (each.__module__, each.__name__) in one.deferred_printers
                        for each in kinds)):
                return False
        return not any(each in one.type_printers for each in kinds for one in (
            self.ipython_display_formatter, self.mimebundle_formatter))

    def format(self, obj, include=None, exclude=None):
        if _is(obj, "plotly.basedatatypes", "BaseFigure"):
            return plotly.bundle(obj), {}
        if include is None and exclude is None and self._is_plain(type(obj)):
            text = self.formatters["text/plain"](obj)
            bundle, metadata = {} if text is None else {"text/plain": text}, {}
        else:
            bundle, metadata = super().format(obj, include, exclude)
        try:
            if _is(obj, "pandas", "DataFrame"):
                bundle[table.MIME] = table.data(obj)
            elif _is(obj, "matplotlib.figure", "Figure"):
                found = chart.chart(obj)
                if found:
                    bundle[chart.MIME] = found
            elif isinstance(obj, (dict, list)) and "application/json" not in bundle:
                bundle["application/json"] = json.dumps(obj, allow_nan=False)
        except Exception:
            pass  # what cannot be told as data is still shown
        return bundle, metadata


class Shown:
    """Sends results, and the same figure once only."""

    def __init__(self, connection):
        self.wire = connection
        self.execution = 0
        self.figures = set()

    def begin(self, execution):
        self.execution = execution
        self.figures = set()

    def send(self, kind, bundle, notes=()):
        image = bundle.get("image/png")
        if image and chart.MIME in bundle:
            mark = hashlib.sha1(_payload("image/png", image)).digest()
            if mark in self.figures:
                return
            self.figures.add(mark)
        flush()
        size, fields = 0, list(notes)
        for mime, data in bundle.items():
            data = _payload(mime, data)
            size += len(data) + len(mime) + 8
            if size > wire.MAX - 4096:
                print(f"{mime}: left out, the result is over 32 MiB", file=sys.stderr)
                size -= len(data)
                continue
            fields.append((mime, data))
        # A cell's own value comes last: there is nothing to keep in order with it.
        is_main = bool(notes) and notes[0][0] == "@main"
        self.wire.send(kind, self.execution, fields, hold=is_main)
        if not is_main:
            self.sync()

    def sync(self):
        """Waits until the text so far and the frame have their place, so that what is printed next
        comes after them."""
        self.wire.send(wire.SYNC, self.execution)
        while True:
            frame = self.wire.receive()
            if frame is None or frame[0] == wire.SYNCED:
                return

    def clear(self, wait):
        flush()
        self.wire.send(wire.CLEAR, self.execution, [("@wait", "1")] if wait else [])
        self.sync()


class Hook(DisplayHook):
    def __call__(self, result=None):
        self.check_for_underscore()
        if result is None or self.quiet():
            return
        bundle, _ = self.compute_format_data(result)
        self.update_user_ns(result)
        if bundle:
            self.shell.shown.send(wire.RESULT, bundle, [("@main", "1")])


class Publisher(DisplayPublisher):
    def publish(self, data, metadata=None, source=None, *, transient=None, update=False, **_):
        ident = (transient or {}).get("display_id")
        notes = [("@id", ident)] if ident else []
        if plotly.MIME in data and "text/html" not in data:
            plotly.complete(data)
        self.shell.shown.send(wire.UPDATE if update else wire.RESULT, data, notes)

    def clear_output(self, wait=False):
        self.shell.shown.clear(wait)


class Shell(InteractiveShell):
    def __init__(self, connection, **more):
        self.shown = Shown(connection)
        self.failed = False
        self.exit_code = None  # of sys.exit() or exit()
        super().__init__(**more)

    def init_displayhook(self):
        self.displayhook = Hook(parent=self, shell=self)
        self.configurables.append(self.displayhook)
        self.display_trap = interactiveshell.DisplayTrap(hook=self.displayhook)

    def init_display_formatter(self):
        self.display_formatter = Formatter(parent=self)
        self.display_formatter.active_types = self.display_formatter.format_types
        self.configurables.append(self.display_formatter)

    def init_display_pub(self):
        self.display_pub = Publisher(parent=self, shell=self)
        self.configurables.append(self.display_pub)

    def enable_gui(self, gui=None):
        pass

    def ask_exit(self):
        self.exit_code = 0

    def showtraceback(self, exc_tuple=None, **options):
        kind, error = (exc_tuple or sys.exc_info())[:2]
        if isinstance(kind, type) and issubclass(kind, SystemExit):
            self.exit_code = self._code_of(error)
            return
        super().showtraceback(exc_tuple, **options)

    def _code_of(self, error):
        if error.code is None:
            return 0
        if isinstance(error.code, int):
            return error.code & 255
        print(error.code, file=sys.stderr)
        return 1

    def _showtraceback(self, etype, evalue, stb):
        self.report(etype, evalue, stb)

    def report(self, etype, evalue, lines):
        flush()
        try:
            value = str(evalue)
        except BaseException:
            value = "<exception str() failed>"
        fields = [("name", getattr(etype, "__name__", str(etype))), ("value", value)]
        self.failed = True
        self.shown.wire.send(wire.ERROR, self.shown.execution,
                             fields + [("traceback", line) for line in lines])

    def system(self, command):
        """!command: with separate streams and no terminal."""
        import subprocess
        flush()
        command = self.var_expand(command, depth=1)
        self.user_ns["_exit_code"] = subprocess.call(command, shell=True,
                                                     executable=os.environ.get("SHELL"))


@types.coroutine
def _drive(coroutine, state):
    """Awaits on behalf of a cell, and raises an interrupt where the cell waits."""
    throw = None
    while True:
        try:
            waited = coroutine.throw(throw) if throw else coroutine.send(None)
        except StopIteration as end:
            return end.value
        throw = None
        try:
            yield waited
        except asyncio.CancelledError as canceled:
            throw = KeyboardInterrupt() if state["interrupted"] else canceled
            state["interrupted"] = False
        except BaseException as error:
            throw = error


def _runner(loop):
    async def whole(coroutine, state):
        return await _drive(coroutine, state)

    def run(coroutine):
        state = {"interrupted": False}
        task = loop.create_task(whole(coroutine, state))
        while True:
            try:
                return loop.run_until_complete(task)
            except KeyboardInterrupt:
                if task.done():
                    raise
                state["interrupted"] = True
                task.cancel()

    return run


def _create_task(loop):
    """asyncio.create_task() for code that does not await itself: the task goes on between
    executions."""
    create_task = asyncio.create_task

    def ours(coroutine, **options):
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return loop.create_task(coroutine, **options)
        return create_task(coroutine, **options)

    return ours


def _plain_warn(warn):
    def ours(message, *args, **options):
        if not str(message).startswith("To exit: use"):
            warn(message, *args, **options)
    return ours


def make(connection, loop):
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.banner1 = ""
    config.PlainTextFormatter.max_seq_length = 0
    Shell.loop_runner_map = dict(InteractiveShell.loop_runner_map)
    interactiveshell.warn = _plain_warn(interactiveshell.warn)
    shell = Shell.instance(connection=connection, config=config)
    shell.loop_runner = _runner(loop)
    shell.autoawait = True
    # IPython forgets the oldest outputs in silence: the cell that is told so did nothing wrong.
    warnings.filterwarnings("ignore", message="Output cache limit")
    asyncio.create_task = _create_task(loop)
    windows.watch()
    os.environ.setdefault("PLOTLY_RENDERER", "plotly_mimetype")
    builtins.display = __import__("IPython.display", fromlist=["display"]).display
    sys.modules["__main__"] = shell.user_module
    return shell
