"""A logistic regression on the tumours of one hospital.

The SuperNode says which: --node-config 'tumours="/path/tumours.csv.gz" party=0'
"""

import gzip

import numpy as np
from flwr.app import Context
from flwr.client import ClientApp, NumPyClient
from flwr.client.mod import secaggplus_mod

SHARES = [0.5, 0.3, 0.2]  # of the three hospitals


def tumours(table, party):
    """Returns measurements and diagnoses of a hospital. All have agreed on a scale."""
    with gzip.open(table, "rt") as file:
        rows = [line.strip().split(",") for line in file][1:]
    measured = np.array([row[:-1] for row in rows], np.float64)
    measured = (measured - measured.mean(axis=0)) / measured.std(axis=0)
    malignant = np.array([row[-1] == "M" for row in rows], np.float64)
    order = np.random.default_rng(1).permutation(len(rows))
    ends = np.cumsum([0.0] + SHARES) * len(rows)
    mine = order[round(ends[party]) : round(ends[party + 1])]
    return measured[mine], malignant[mine]


class Regression(NumPyClient):
    """Logistic regression by gradient descent: 30 weights and a bias."""

    def __init__(self, measured, malignant):
        kept = len(malignant) // 4  # to measure the model with
        self.tests = measured[:kept], malignant[:kept]
        self.examples = measured[kept:], malignant[kept:]

    def get_parameters(self, config):
        return [np.zeros(30), np.zeros(1)]

    def fit(self, parameters, config):
        weights, bias = (np.array(layer) for layer in parameters)
        measured, malignant = self.examples
        rate = config.get("learning_rate", 0.1)
        for _ in range(config.get("epochs", 5)):
            wrong = 1 / (1 + np.exp(-(measured @ weights + bias))) - malignant
            weights -= rate * measured.T @ wrong / len(malignant)
            bias -= rate * wrong.mean()
        return [weights, bias], len(malignant), {}

    def evaluate(self, parameters, config):
        weights, bias = parameters
        measured, malignant = self.tests
        scores = measured @ weights + bias
        loss = float(np.mean(np.logaddexp(0, scores) - malignant * scores))
        accuracy = float(np.mean((scores > 0) == (malignant > 0)))
        return loss, len(malignant), {"accuracy": accuracy}


def client_fn(context: Context):
    """Makes the client of a message: a ClientApp keeps nothing between two of them."""
    node = context.node_config
    return Regression(*tumours(node["tumours"], int(node["party"]))).to_client()


# The mod answers the stages of the protocol, calls the client where it has to train, and
# masks what it returns.
app = ClientApp(client_fn=client_fn, mods=[secaggplus_mod])
