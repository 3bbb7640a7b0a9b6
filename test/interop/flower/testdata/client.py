"""A Flower client of the tests: python client.py '{"server": "HOST:PORT", "number": 0, …}'.

    server     address of the Flower server
    number     which client it is, from 0
    model      "network" trains network.py among so many "clients";
               "adder" adds number + 1 to every weight
    again      connects again whenever a training or a connection has ended
    gate       a folder: the k-th fit ends once there is a file k
    properties what it says of itself

It writes "fit K CONFIG" and "evaluate K" at the begin of its K-th of each, with
the configuration as JSON and every value beside its type, and "ended" when the
server has sent it away.
"""

import json
import os
import sys
import time

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import flwr  # noqa: E402
import grpc  # noqa: E402
import network  # noqa: E402
import numpy as np  # noqa: E402
from flwr.client import NumPyClient, start_client, start_numpy_client  # noqa: E402

OPTIONS = json.loads(sys.argv[1])
NUMBER = OPTIONS["number"]


def say(*words):
    # In one write: Flower's log goes to the same pipe from other threads.
    os.write(sys.stdout.fileno(), (" ".join(map(str, words)) + "\n").encode())


def typed(config):
    return json.dumps({key: [type(value).__name__, value] for key, value in config.items()}, sort_keys=True)


class Client(NumPyClient):
    fits = evaluations = 0

    def begin_fit(self, config):
        self.fits += 1
        say("fit", self.fits, typed(config))
        if gate := OPTIONS.get("gate"):
            while not os.path.exists(os.path.join(gate, str(self.fits))):
                time.sleep(0.02)

    def begin_evaluation(self):
        self.evaluations += 1
        say("evaluate", self.evaluations)

    if "properties" in OPTIONS:

        def get_properties(self, config):
            return OPTIONS["properties"]


class Adder(Client):
    def get_parameters(self, config):
        return [np.zeros((2, 3), np.float32), np.zeros(4)]

    def fit(self, parameters, config):
        self.begin_fit(config)
        return [p + p.dtype.type(NUMBER + 1) for p in parameters], 10, {}

    def evaluate(self, parameters, config):
        self.begin_evaluation()
        weight = float(parameters[0].flat[0])
        return 100 - weight, 10, {"accuracy": weight / 10}


class Network(Client):
    def get_parameters(self, config):  # not those that training begins with
        return network.other_start()

    def fit(self, parameters, config):
        self.begin_fit(config)
        loss = network.common_loss(parameters, OPTIONS["clients"])
        trained, examples = network.train(
            parameters, NUMBER, config["epochs"], config["learning_rate"], config.get("proximal_mu", 0.0))
        return trained, examples, {"loss": loss}

    def evaluate(self, parameters, config):
        self.begin_evaluation()
        loss, examples, accuracy = network.evaluate(parameters, NUMBER)
        return loss, examples, {"accuracy": accuracy}


def join(client):
    if flwr.__version__ == "1.3.0":
        start_numpy_client(server_address=OPTIONS["server"], client=client)
    else:
        start_client(server_address=OPTIONS["server"], client=client.to_client(), insecure=True)


client = {"network": Network, "adder": Adder}[OPTIONS["model"]]()
while True:
    try:
        join(client)
        say("ended")
    except grpc.RpcError as error:
        if not OPTIONS.get("again"):
            raise
        say("lost", error.code())
        time.sleep(0.1)
    if not OPTIONS.get("again"):
        break
