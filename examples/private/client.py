"""A party of an encrypted training: python client.py HOST:PORT --secret keys/secret.txt --party 0

Three parties with unequal shares of the tumours in ../tumours train a logistic regression.
The collector never sees its 31 numbers.
"""

import argparse
import gzip
import os
import pathlib

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")

import flwr  # noqa: E402
import keys  # noqa: E402
import numpy as np  # noqa: E402
from clipped import Clipped  # noqa: E402
from flwr.client import NumPyClient, start_client  # noqa: E402
from sealed import Packed, Sealed, Unbatched  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parent.parent / "tumours" / "tumours.csv.gz"
SHARES = [0.6, 0.3, 0.1]  # of the three parties


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


class Regression(NumPyClient):
    """Logistic regression by gradient descent: 30 weights and a bias."""

    def __init__(self, party):
        super().__init__()
        self.party = party
        measured, malignant = tumours(party)
        kept = len(malignant) // 4  # to measure the model with
        self.tests = measured[:kept], malignant[:kept]
        self.examples = measured[kept:], malignant[kept:]

    def get_parameters(self, config):
        return [np.zeros(30), np.zeros(1)]

    def fit(self, parameters, config):
        weights, bias = (np.array(layer) for layer in parameters)
        measured, malignant = self.examples
        for _ in range(config.get("epochs", 5)):
            wrong = 1 / (1 + np.exp(-(measured @ weights + bias))) - malignant
            weights -= config.get("learning_rate", 0.1) * measured.T @ wrong / len(malignant)
            bias -= config.get("learning_rate", 0.1) * wrong.mean()
        return [weights, bias], len(malignant), {}

    def evaluate(self, parameters, config):
        weights, bias = parameters
        measured, malignant = self.tests
        scores = measured @ weights + bias
        loss = float(np.mean(np.logaddexp(0, scores) - malignant * scores))
        accuracy = float(np.mean((scores > 0) == (malignant > 0)))
        print(f"party {self.party}: loss {loss:.4f}, accuracy {accuracy:.4f}", flush=True)
        return loss, len(malignant), {"accuracy": accuracy}


def main():
    options = argparse.ArgumentParser(description="A party of an encrypted training.")
    options.add_argument("server", help="HOST:PORT of the collector for clients")
    options.add_argument("--secret", required=True, help="the key file that all parties have")
    options.add_argument("--party", type=int, choices=range(len(SHARES)), required=True)
    options.add_argument("--unbatched", action="store_true", help="a ciphertext for every number")
    chosen = options.parse_args()

    form = Unbatched if chosen.unbatched else Packed
    client = Sealed(Clipped(Regression(chosen.party)), keys.load(chosen.secret), form)
    more = {} if flwr.__version__ == "1.3.0" else {"insecure": True}  # which the old one is by default
    start_client(server_address=chosen.server, client=client, **more)


if __name__ == "__main__":
    main()
