"""A ROUTER that sends back what it gets, at once: `python -m benchmarks.realtime.bare_echo ADDRESS`."""

from __future__ import annotations

import sys

import zmq


def main(address: str) -> None:
    """Answer until ended."""
    with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
        socket.bind(address)
        sys.stdout.write("here\n")
        sys.stdout.flush()
        while True:
            socket.send_multipart(socket.recv_multipart())


if __name__ == "__main__":
    main(*sys.argv[1:])
