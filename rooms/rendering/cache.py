"""Cache of rendered HTML: the most recently used texts by key, shared by all threads of the process."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

from django.utils.safestring import SafeString


class RenderCache:
    """Keeps the `size` texts that were used last, and nothing of what they were rendered from.

    `functools.lru_cache` would take the question or message as an argument, and keep it with the text.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = Lock()
        # The one that was used last is at the end.
        self._texts: OrderedDict[Hashable, SafeString] = OrderedDict()

    def get_or_render(self, key: Hashable, render: Callable[[], SafeString]) -> SafeString:
        """The text with this key; rendered now, outside the lock, if it is not in the cache."""
        with self._lock:
            text = self._texts.get(key)
            if text is not None:
                self._texts.move_to_end(key)
                return text
        text = render()
        with self._lock:
            self._texts[key] = text
            self._texts.move_to_end(key)
            if len(self._texts) > self._size:
                self._texts.popitem(last=False)
        return text

    def clear(self) -> None:
        with self._lock:
            self._texts.clear()
