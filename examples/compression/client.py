"""A party of a training with small updates: python client.py HOST:PORT --kind int8 --party 0

Three parties with unequal shares of the tumours in ../tumours train a network with one
hidden layer, in NumPy.
"""

import argparse
import gzip
import os
import pathlib

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")

import flwr  # noqa: E402
import numpy as np  # noqa: E402
from compressed import KINDS, Compressed, TopK  # noqa: E402
from flwr.client import NumPyClient, start_client  # noqa: E402
from local import Local  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parent.parent / "tumours" / "tumours.csv.gz"
SHARES = [0.5, 0.3, 0.2]  # of the three parties
HIDDEN = 64


def tumours(party):
    """Returns measurements and diagnoses of a party. All have agreed on a scale."""
    with gzip.open(TABLE, "rt") as file:
        rows = [line.strip().split(",") for line in file][1:]
    measured = np.array([row[:-1] for row in rows], np.float64)
    measured = (measured - measured.mean(axis=0)) / measured.std(axis=0)
    malignant = np.array([row[-1] == "M" for row in rows], np.float64)
    order = np.random.default_rng(1).permutation(len(rows))
    ends = np.cumsum([0.0] + SHARES) * len(rows)
    mine = order[round(ends[party]) : round(ends[party + 1])]
    return measured[mine], malignant[mine]


class Network(NumPyClient):
    """30 measurements, 64 hidden units, one score: four layers of float32."""

    def __init__(self, party):
        super().__init__()
        self.party = party
        measured, malignant = tumours(party)
        kept = len(malignant) // 4  # to measure the model with
        self.tests = measured[:kept], malignant[:kept]
        self.examples = measured[kept:], malignant[kept:]

    def get_parameters(self, config):
        start = np.random.default_rng(2)
        layers = [start.normal(0, 0.2, (HIDDEN, 30)), np.zeros(HIDDEN), start.normal(0, 0.2, (1, HIDDEN)), np.zeros(1)]
        return [layer.astype(np.float32) for layer in layers]

    def forward(self, layers, measured):
        inner, inner_bias, outer, outer_bias = layers
        hidden = np.tanh(measured @ inner.T + inner_bias)
        return hidden, hidden @ outer[0] + outer_bias[0]

    def fit(self, parameters, config):
        layers = [np.array(layer, np.float64) for layer in parameters]
        measured, malignant = self.examples
        rate = config.get("learning_rate", 0.1)
        for _ in range(config.get("epochs", 5)):
            hidden, scores = self.forward(layers, measured)
            wrong = (1 / (1 + np.exp(-scores)) - malignant) / len(malignant)
            back = np.outer(wrong, layers[2][0]) * (1 - hidden * hidden)
            steps = [back.T @ measured, back.sum(axis=0), (wrong @ hidden)[None, :], np.array([wrong.sum()])]
            for layer, step in zip(layers, steps):
                layer -= rate * step
        return [layer.astype(np.float32) for layer in layers], len(malignant), {}

    def evaluate(self, parameters, config):
        measured, malignant = self.tests
        _, scores = self.forward(parameters, measured)
        loss = float(np.mean(np.logaddexp(0, scores) - malignant * scores))
        accuracy = float(np.mean((scores > 0) == (malignant > 0)))
        print(f"party {self.party}: loss {loss:.4f}, accuracy {accuracy:.4f}", flush=True)
        return loss, len(malignant), {"accuracy": accuracy}


def run(server, client):
    """Trains until the collector sends the client away."""
    more = {} if flwr.__version__ == "1.3.0" else {"insecure": True}  # which the old one is by default
    start_client(server_address=server, client=client, **more)


def main():
    options = argparse.ArgumentParser(description="A party of a training with small updates.")
    options.add_argument("server", help="HOST:PORT of the collector for clients")
    options.add_argument("--party", type=int, choices=range(len(SHARES)), required=True)
    options.add_argument("--kind", choices=sorted(KINDS), required=True)
    options.add_argument("--share", type=float, default=0.1, help="of the elements that topk sends")
    options.add_argument("--forget", action="store_true", help="no error feedback")
    chosen = options.parse_args()
    form = TopK(chosen.share) if chosen.kind == "topk" else KINDS[chosen.kind]()
    names = ["inner.weight", "inner.bias", "outer.weight", "outer.bias"]
    run(chosen.server, Compressed(Local(Network(chosen.party), names), form, not chosen.forget))


if __name__ == "__main__":
    main()
