"""A ClientApp with a NumPyClient, which adds the number of its node to the model."""

import numpy as np
from flwr.common import Context

try:
    from flwr.client import ClientApp, NumPyClient
except ImportError:
    from flwr.compat.client import NumPyClient
    from flwr.clientapp import ClientApp


class Adder(NumPyClient):
    def __init__(self, k: int):
        self.k = k

    def get_parameters(self, config):
        return [np.zeros((2, 2), np.float32), np.zeros(3, np.float64)]

    def fit(self, parameters, config):
        trained = [(w + np.asarray(self.k, w.dtype)).astype(w.dtype) for w in parameters]
        return trained, self.k, {"k": self.k, "lr": float(config["lr"])}

    def evaluate(self, parameters, config):
        return float(parameters[0].mean()), self.k, {"accuracy": 0.5}


def client_fn(context: Context):
    return Adder(int(context.node_config["number"])).to_client()


app = ClientApp(client_fn=client_fn)
