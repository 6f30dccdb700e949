"""The driver of Python: IPython's shell, told by frames on descriptor 3 what to execute."""

import gc
import os
import select
import signal
import sys

gc.disable()  # until all is loaded, there is nothing to find
signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import asyncio
import base64
import builtins
import getpass
import site
import threading

import _sandpit_wire as wire
import _sandpit_shell

sys.path.pop(0)
PRELOAD = ("numpy", "pandas", "matplotlib.pyplot", "matplotlib_inline.backend_inline")
PENDING = "SANDPIT_PENDING"  # frames that were read before the driver started itself again


class Driver:
    def __init__(self):
        pending = base64.b64decode(os.environ.pop(PENDING, ""))
        self.again = bool(pending)
        self.wire = wire.Wire(3, pending)
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        sys.stdin = open(os.devnull)
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(errors="replace", line_buffering=True)
        self.streams = sys.stdout, sys.stderr
        self.shell = _sandpit_shell.make(self.wire, self.loop)
        self.pid = os.getpid()
        builtins.input = self.ask
        getpass.getpass = lambda prompt="Password: ", stream=None: self.ask(prompt, True)
        self.installed = self.stamp()
        self.directory = None

    def stand(self):
        """In the directory of that name: a restore puts another in its place. One that is only
        removed is stayed in, as anywhere."""
        try:
            self.directory = os.getcwd()
        except OSError:
            try:
                os.chdir(self.directory or "")
            except OSError:
                pass

    @staticmethod
    def stamp():
        """What changes when a package is installed."""
        marks = []
        for path in [*site.getsitepackages(), "/usr/lib/python3/dist-packages"]:
            try:
                marks.append(os.stat(path).st_mtime_ns)
            except OSError:
                marks.append(0)
        return marks

    def ask(self, prompt="", password=False):
        sys.stdout.write(str(prompt))
        _sandpit_shell.flush()
        self.wire.send(wire.INPUT, self.shell.shown.execution,
                       [("prompt", prompt)] + ([("password", "1")] if password else []))
        while True:
            frame = self.wire.receive()
            if frame is None:
                raise EOFError("the daemon has gone")
            if frame[0] == wire.LINE:
                lines = [value for name, value in frame[2] if name == "line"]
                if not lines:
                    raise EOFError("end of file when reading a line")
                return lines[0].decode("utf-8", "replace")

    def preload(self):
        """Loads what most cells import, beside what is executed meanwhile: an import that is under
        way is waited for by whoever asks for the same."""
        def load():
            for name in PRELOAD:
                if self.shell.shown.execution:
                    break
                try:
                    __import__(name)
                except Exception:
                    break
            else:
                gc.freeze()
                self.loop.call_soon_threadsafe(self.wire.send, wire.READY)
            sys.setswitchinterval(interval)

        interval = sys.getswitchinterval()
        sys.setswitchinterval(interval / 10)
        loader = threading.Thread(target=load, daemon=True)
        loader.start()
        # In a child of fork() an import that it has begun would never end.
        os.register_at_fork(before=loader.join)

    def set_up(self, fields):
        if self.stamp() != self.installed and not self.again:
            self.start_again(fields)
        for name, value in fields:
            value = os.fsdecode(value)
            if name == "cwd":
                try:
                    os.chdir(value)
                except OSError as error:
                    print(f"{value}: {error.strerror}", file=sys.stderr)
            elif name == "env":
                key, _, value = value.partition("=")
                os.environ[key] = value
        self.stand()
        if "TZ" in os.environ:
            __import__("time").tzset()
        sys.path.insert(0, "")

    def start_again(self, fields):
        """What is loaded may not be what is installed any more: begins anew with the same frames."""
        head = wire.Wire.__new__(wire.Wire)
        frames = bytearray()
        head.held = b""
        head.socket = type("Into", (), {"sendall": staticmethod(frames.extend)})
        head.send(wire.SETUP, 0, fields)
        os.environ[PENDING] = base64.b64encode(bytes(frames + self.wire.data)).decode()
        os.set_inheritable(3, True)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])

    def execute(self, execution, code):
        shell = self.shell
        shell.failed = False
        shell.exit_code = None
        shell.shown.begin(execution)
        shell.execution_count = execution
        self.stand()
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                if "\0" in code:  # IPython itself breaks at it
                    raise SyntaxError("source code cannot contain null bytes")
                outcome = shell.run_cell(code, store_history=True)
                error = outcome.error_before_exec or outcome.error_in_exec
                if error and not shell.failed and not isinstance(error, SystemExit):
                    shell.report(type(error), error, [f"{type(error).__name__}: {error}"])
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except BaseException as error:  # also an interrupt between the cell and here
            if os.getpid() == self.pid and not shell.failed:
                shell.report(type(error), error, [f"{type(error).__name__}: {error}".rstrip(": ")])
        self.flush()
        if os.getpid() != self.pid:
            os._exit(shell.exit_code or 0)  # a child of os.fork() that came to its end
        if shell.exit_code:
            sys.exit(shell.exit_code)
        if shell.exit_code is not None:
            self.wire.send(wire.END, execution, [("exit", "1")])
            sys.exit(0)
        self.stand()
        self.wire.send(wire.END, execution)

    def flush(self):
        for stream in (sys.stdout, sys.stderr, *self.streams):
            try:
                stream.flush()
            except Exception:
                pass

    def sleep(self):
        """Waits without the event loop, which is quicker, as long as that has nothing to do;
        whether there is a frame."""
        loop = self.loop
        try:
            if loop._scheduled or loop._ready:
                return False
            watched = select.poll()
            watched.register(3, select.POLLIN)
            watched.register(loop._selector.fileno(), select.POLLIN)
        except (AttributeError, ValueError):
            return False  # an event loop that is made in another way
        return watched.poll()[0][0] == 3

    def wait(self):
        """Until there is a frame; the event loop's own tasks go on meanwhile."""
        if self.wire.data or self.sleep():
            return
        ready = self.loop.create_future()
        self.loop.add_reader(3, lambda: ready.done() or ready.set_result(None))
        try:
            self.loop.run_until_complete(ready)
        finally:
            self.loop.remove_reader(3)

    def run(self):
        self.shell.run_cell("1", silent=True)  # the first one is slow
        self.shell.user_ns.pop("_", None)
        gc.freeze()  # what is loaded by now is not looked through again and again
        gc.enable()
        self.wire.send(wire.READY)
        while True:
            self.wait()
            frame = self.wire.receive()
            if frame is None:
                return
            kind, execution, fields = frame
            if kind == wire.SETUP:
                self.set_up(fields)
            elif kind == wire.PREPARE:
                self.preload()
            elif kind == wire.EXECUTE:
                code = dict(fields).get("code", b"")
                self.execute(execution, code.decode("utf-8", "replace"))


Driver().run()
