"""What a Flower client has to do where the collector trains with dp-adaptive."""

import random

import numpy as np
from flwr.client import NumPyClient


class Clipped(NumPyClient):
    """Cuts the update of another NumPyClient to the norm that the collector names, says
    whether it was within, and adds noise if the collector leaves that to its clients. It
    is understood like the DPFedAvgNumPyClient of Flower's earlier releases, and does
    nothing where the job has no dp-adaptive."""

    def __init__(self, client):
        super().__init__()
        self.client = client
        self.random = random.SystemRandom()

    def get_parameters(self, config):
        return self.client.get_parameters(config)

    def evaluate(self, parameters, config):
        return self.client.evaluate(parameters, config)

    def fit(self, parameters, config):
        if "dpfedavg_clip_norm" not in config:
            return self.client.fit(parameters, config)
        before = [np.array(layer, np.float64) for layer in parameters]
        after, examples, metrics = self.client.fit(parameters, config)
        steps = [layer - start for layer, start in zip(after, before)]
        norm = float(np.sqrt(sum(np.sum(step * step) for step in steps)))
        limit, deviation = config["dpfedavg_clip_norm"], config.get("dpfedavg_noise_stddev", 0.0)
        if norm > limit:
            steps = [step * (limit / norm) for step in steps]
        if deviation > 0:
            steps = [step + self.noise(step.shape, deviation) for step in steps]
        kinds = [np.asarray(layer).dtype for layer in after]
        sent = [(start + step).astype(kind) for start, step, kind in zip(before, steps, kinds)]
        return sent, examples, {**metrics, "dpfedavg_norm_bit": norm <= limit}

    def noise(self, shape, deviation):
        """Gaussian noise from the system's generator, which no client can predict."""
        numbers = [self.random.gauss(0.0, deviation) for _ in range(int(np.prod(shape)))]
        return np.array(numbers).reshape(shape)
