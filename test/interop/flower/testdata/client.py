"""A Flower client of the tests: python client.py '{"server": "HOST:PORT", "number": 0, …}'.

    server     address of the Flower server
    number     which client it is, from 0
    model      "network" trains network.py among so many "clients";
               "adder" adds number + 1 to every weight
    again      connects again whenever a training or a connection has ended
    gate       a folder: the k-th fit ends once there is a file k
    evaluation the same for evaluations
    properties what it says of itself

It writes "fit K CONFIG" and "evaluate K" at the begin of its K-th of each, with
the configuration as JSON and every value beside its type, and "ended" when the
server has sent it away.
"""

import json
import sys

import network
import numpy as np
import party
from flwr.client import NumPyClient

OPTIONS = json.loads(sys.argv[1])
NUMBER = OPTIONS["number"]


class Client(NumPyClient):
    fits = evaluations = 0

    def begin_fit(self, config):
        self.fits += 1
        party.begin_fit(self.fits, config, OPTIONS.get("gate"))

    def begin_evaluation(self):
        self.evaluations += 1
        party.say("evaluate", self.evaluations)
        party.await_gate(self.evaluations, OPTIONS.get("evaluation"))

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


client = {"network": Network, "adder": Adder}[OPTIONS["model"]]()
party.join(client, OPTIONS["server"], OPTIONS.get("again"))
