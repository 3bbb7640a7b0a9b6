"""Flower clients of uneven.py: python uneven_clients.py '{"server": "HOST:PORT", "clients": 8}'

Each is a process of its own, made by fork so that Flower is loaded once, and all end with
this one. They join again whenever a training has ended; the configuration of a fit is the
case. One half comes by start_numpy_client, the other by start_client.
"""

import json
import os
import sys
import threading

import party
import uneven
from flwr.client import NumPyClient, start_client, start_numpy_client

OPTIONS = json.loads(sys.argv[1])


class Client(NumPyClient):
    def __init__(self, number):
        super().__init__()
        self.number, self.playing = number, {}

    def get_parameters(self, config):
        raise NotImplementedError("the repository has the initial parameters")

    def fit(self, parameters, config):
        name = config["name"]
        if name not in self.playing:
            self.playing[name] = uneven.Client(config, self.number)
        layers, examples = self.playing[name].fit(parameters)
        return layers, examples, {}

    def evaluate(self, parameters, config):
        raise NotImplementedError("there is no evaluation")


def join(number):
    client, more = Client(number), {}
    if party.flwr.__version__ == "1.3.0":
        from flwr.client.app import to_client
    else:
        to_client, more = Client.to_client, {"insecure": True}
    while True:
        if number % 2:
            start_client(server_address=OPTIONS["server"], client=to_client(client), **more)
        else:
            start_numpy_client(server_address=OPTIONS["server"], client=client, **more)


def end_with_parent(alive):
    os.read(alive, 1)
    os._exit(0)


alive, parent = os.pipe()
for number in range(OPTIONS["clients"]):
    if os.fork() == 0:
        os.close(parent)
        threading.Thread(target=end_with_parent, args=(alive,), daemon=True).start()
        join(number)
        os._exit(0)
os.close(alive)
party.say("forked")
os.wait()
sys.exit("a client has ended")
