"""Layers of Flower clients that stay at home, with NumPy."""

import numpy as np
from flwr.client import NumPyClient

FIELD = "local_layers"


class Local(NumPyClient):
    """Keeps layers of another NumPyClient at home: it removes them from answers and fills
    in its own on the way in. The instructions of the collector say which layers these are.
    Names of layers, in the order of the model, are needed where the job lists names. Where
    the collector asks for the model, zeros stand for the local layers."""

    def __init__(self, client, names=()):
        super().__init__()
        self.client = client
        self.names = list(names)
        self.own = None  # all layers, of which the local ones count

    def local(self, config):
        """Returns the indices of the local layers."""
        listed = [layer for layer in str(config.get(FIELD, "")).split(",") if layer]
        return {self.names.index(layer) if layer in self.names else int(layer) for layer in listed}

    def get_parameters(self, config):
        local = self.local(config)
        layers = self.client.get_parameters(config)
        return [np.zeros_like(layer) if i in local else layer for i, layer in enumerate(layers)]

    def whole(self, shared, local):
        """Returns all layers: the shared ones that came, and the local ones of this client."""
        if self.own is None:
            self.own = [np.array(layer) for layer in self.client.get_parameters({})]
        if len(shared) + len(local) != len(self.own):
            raise ValueError(f"{len(shared)} layers came, and {len(local)} of {len(self.own)} are local")
        coming = iter(shared)
        return [np.array(self.own[i]) if i in local else next(coming) for i in range(len(self.own))]

    def fit(self, parameters, config):
        local = self.local(config)
        layers, examples, metrics = self.client.fit(self.whole(parameters, local), config)
        self.own = [np.array(layer) for layer in layers]
        return [layer for i, layer in enumerate(layers) if i not in local], examples, metrics

    def evaluate(self, parameters, config):
        return self.client.evaluate(self.whole(parameters, self.local(config)), config)
