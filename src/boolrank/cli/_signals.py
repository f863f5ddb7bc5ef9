"""Let SIGINT and SIGTERM end a command: by unwinding it, or by force after some seconds."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from traceback import walk_stack
from types import FrameType
from typing import Any

# Seconds for unwinding: compiled code may take minutes, and libraries drop exceptions.
_GRACE, _PAUSE = 5.0, 0.05


class SignalGuard:
    """Raises an exception at the first signal, so that workers and temporary folders go.

    Exceptions and messages that follow from it are not shown: ``code`` is then not 0. Files left
    after the grace period are removed by the next run.
    """

    code = 0
    _raised = False

    def __enter__(self) -> SignalGuard:
        self._before: dict[signal.Signals, Any] = {}
        self._wakeup: int | None = None
        self._hook = sys.unraisablehook
        if threading.current_thread() is not threading.main_thread():
            return self  # signals do not arrive there
        sys.unraisablehook = lambda args: None if self.code else self._hook(args)
        if os.name == "posix":
            self._watch()
        for each in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(each) != signal.SIG_IGN:  # as nohup sets it
                self._before[each] = signal.signal(each, self._end)
        return self

    def __exit__(self, *_: object) -> None:
        for each, action in self._before.items():
            signal.signal(each, action)
        if self._wakeup is not None:
            os.close(signal.set_wakeup_fd(self._wakeup))
        sys.unraisablehook = self._hook

    def _end(self, number: int, frame: FrameType | None) -> None:
        self.code = self.code or 128 + number  # as shells do
        # A second exception would disturb the cleaning, and polars prints one that it meets.
        if not self._raised and not (os.name == "posix" and _is_within("polars", frame)):
            self._raised = True
            raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(self.code)

    def _watch(self) -> None:
        """Repeat a signal until it is handled, and end the process after some seconds."""
        main = threading.get_ident()
        receiver, sender = os.pipe()
        os.set_blocking(sender, False)
        self._wakeup = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)

        def watch() -> None:
            while number := os.read(receiver, 1):
                which, end = signal.Signals(number[0]), time.monotonic() + _GRACE
                # A service has handlers of its own.
                while self.code or signal.getsignal(which) == self._end:
                    time.sleep(_PAUSE)
                    if time.monotonic() > end:
                        os._exit(128 + which)
                    if not self._raised and signal.getsignal(which) == self._end:
                        signal.pthread_kill(main, which)
            os.close(receiver)

        threading.Thread(target=watch, daemon=True).start()


def _is_within(library: str, frame: FrameType | None) -> bool:
    """Return whether a function of a library is being called."""
    modules = (str(each.f_globals.get("__name__")) for each, _ in walk_stack(frame))
    return any(name.partition(".")[0] == library for name in modules)
