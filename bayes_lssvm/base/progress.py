"""The progress bar of long work: tqdm's, with a lock of this process alone.

tqdm guards its bars by a lock that forked processes share. A child that is killed while it holds that lock, which it
takes to begin a bar even when none is shown, stops its parent and its siblings for good.
"""

from __future__ import annotations

import threading

from tqdm import auto

__all__ = ["tqdm"]


class tqdm(auto.tqdm):  # type: ignore[type-arg, misc, unused-ignore]
    """As `tqdm.auto.tqdm`; see the module."""


tqdm.set_lock(threading.RLock())
