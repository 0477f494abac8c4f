"""Answers computed by several processes (`serve --processes N`).

One process listens. It has the connections, the limits of each client, the queue, uploads, and kept answers, so all of
them hold for the server as a whole. It passes on what needs computing, over socket pairs, to N processes that open the
same publications. They have no address: nobody else can connect to them, and they end when the listening process ends.
"""

from typing import Final

MOST_PROCESSES: Final = 16
"""More would only divide the memory: the threads of the listening process keep about this many at work."""
