"""Worker processes that end with the process that started them, however that ends."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

from joblib.parallel import get_active_backend

_LOOK = 1.0  # seconds


def end_with(parent: int) -> None:
    """In a worker: end this process as soon as its parent is gone, whatever it is doing.

    The worker looks for itself. A signal that the kernel would send at the parent's death comes at the death of the
    thread that started the worker, which may end long before its process.
    """

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)  # nobody is there to take a result, or to be told

    threading.Thread(target=look, name="end-with-parent", daemon=True).start()


def own_workers() -> dict[str, Any]:
    """Arguments of `joblib.Parallel` by which its worker processes end with this process.

    Empty where the user has chosen other workers than joblib's own, whose life is theirs to manage.
    """
    backend, _ = get_active_backend()
    if type(backend).__name__ != "LokyBackend":
        return {}
    return {"initializer": end_with, "initargs": (os.getpid(),)}
