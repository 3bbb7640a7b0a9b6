"""Trains a logistic regression on the data of one machine.

The data are made here, in place of a file of the machine: eight bands of the spectrum of a vibration, and
whether the bearing is worn. --node-config "machine=N" says which machine it is.
"""

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = ClientApp()


def data(context: Context, part: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the spectra and the labels: part 0 for training, part 1 for evaluation."""
    machine = int(context.node_config["machine"])
    numbers = np.random.default_rng([machine, part])
    spectra = numbers.normal(0.2 * machine, 1.0, (400, 8))  # no machine runs like another
    worn = spectra @ np.linspace(-1.0, 1.0, 8) + numbers.normal(0.0, 0.2, 400) > 0
    return spectra, worn.astype(np.float64)


def probabilities(spectra: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-(spectra @ weights + bias)))


@app.train()
def train(message: Message, context: Context) -> Message:
    model, config = message.content["arrays"], message.content["config"]
    weights, bias = model["weights"].numpy().copy(), model["bias"].numpy().copy()
    spectra, worn = data(context, 0)
    for _ in range(int(config["epochs"])):
        error = probabilities(spectra, weights, bias) - worn
        weights -= float(config["learning-rate"]) * spectra.T @ error / len(worn)
        bias -= float(config["learning-rate"]) * error.mean()
    trained = ArrayRecord({"weights": Array(weights), "bias": Array(bias)})
    metrics = MetricRecord({"num-examples": len(worn)})
    return Message(RecordDict({"arrays": trained, "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    model = message.content["arrays"]
    spectra, worn = data(context, 1)
    p = probabilities(spectra, model["weights"].numpy(), model["bias"].numpy()).clip(1e-9, 1 - 1e-9)
    metrics = MetricRecord({
        "num-examples": len(worn),
        "eval_loss": float(-np.mean(worn * np.log(p) + (1 - worn) * np.log(1 - p))),
        "accuracy": float(np.mean((p > 0.5) == (worn > 0.5))),
    })
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
