"""Adds the step of the node's configuration to each weight. With a file in "stall" it makes
that file in the second round, and goes on no more."""

import pathlib
import time

import numpy as np
from flwr.app import Context
from flwr.client import ClientApp, NumPyClient
from flwr.client.mod import secaggplus_mod


class Adder(NumPyClient):
    def __init__(self, node):
        self.node = node

    def get_parameters(self, config):
        return [np.zeros((2, 3), np.float32), np.zeros(4, np.float64)]

    def fit(self, parameters, config):
        stall = self.node.get("stall")
        if stall and parameters[0][0][0] != 0:
            pathlib.Path(stall).touch()
            time.sleep(3600)
        step = float(self.node["step"])
        return [layer + layer.dtype.type(step) for layer in parameters], int(self.node["examples"]), {"step": step}


def client_fn(context: Context):
    return Adder(context.node_config).to_client()


app = ClientApp(client_fn=client_fn, mods=[secaggplus_mod])
