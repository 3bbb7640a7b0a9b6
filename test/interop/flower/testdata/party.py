"""What the clients of the tests have in common: what they write, how they are held back,
and how they join."""

import json
import os
import sys
import time

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import grpc  # noqa: E402
from flwr.client import NumPyClient, start_client, start_numpy_client  # noqa: E402


def say(*words):
    # In one write: Flower's log goes to the same pipe from other threads.
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


def typed(config):
    return json.dumps({key: [type(value).__name__, value] for key, value in config.items()}, sort_keys=True)


def begin_fit(number, config, gate):
    """Says that the fit of that number begins, and waits until the gate, if any, is open."""
    say("fit", number, typed(config))
    await_gate(number, gate)


def await_gate(number, gate):
    if gate:
        while not os.path.exists(os.path.join(gate, str(number))):
            time.sleep(0.02)


def connect(client, server):
    if flwr.__version__ != "1.3.0":
        if isinstance(client, NumPyClient):
            client = client.to_client()
        start_client(server_address=server, client=client, insecure=True)
    elif isinstance(client, NumPyClient):
        start_numpy_client(server_address=server, client=client)
    else:
        start_client(server_address=server, client=client)


def join(client, server, again):
    """Takes part until the server sends the client away; again and again, also after a
    lost connection, if that is wanted."""
    while True:
        try:
            connect(client, server)
            say("ended")
        except grpc.RpcError as error:
            if not again:
                raise
            say("lost", error.code())
            time.sleep(0.1)
        if not again:
            break
