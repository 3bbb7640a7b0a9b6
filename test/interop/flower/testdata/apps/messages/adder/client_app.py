"""A ClientApp of the Message API, which adds the number of its node to the model."""

import os
import time

import numpy as np

try:
    from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
except ImportError:
    from flwr.client import ClientApp
    from flwr.common import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict

app = ClientApp()


def number(context: Context) -> int:
    return int(context.node_config["number"])


def say(context: Context, text: str) -> None:
    """Adds a line to a file, which the test reads."""
    path = context.node_config.get("diary", "")
    if path:
        with open(str(path), "a", encoding="utf-8") as diary:
            diary.write(text + "\n")


def hold(context: Context, config: ConfigRecord) -> None:
    """Waits for the test where the node is told to."""
    gate = str(context.node_config.get("gate", ""))
    while gate and not os.path.exists(os.path.join(gate, str(config["server-round"]))):
        time.sleep(0.05)


@app.train()
def train(message: Message, context: Context) -> Message:
    arrays, config = message.content["arrays"], message.content["config"]
    say(context, f"train {config['server-round']} {' '.join(arrays.keys())} lr={config['lr']}")
    if int(config.get("fails", 0)) == number(context):
        raise ValueError("the data of this node is lost")
    hold(context, config)
    k = number(context)
    trained = ArrayRecord()
    for name, array in arrays.items():
        values = array.numpy()
        trained[name] = Array((values + np.asarray(k, values.dtype)).astype(values.dtype))
    metrics = MetricRecord({"num-examples": k, "train_loss": float(k)})
    return Message(content=RecordDict({"arrays": trained, "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    arrays, config = message.content["arrays"], message.content["config"]
    say(context, f"evaluate {config['server-round']}")
    loss = float(next(iter(arrays.values())).numpy().mean())
    metrics = MetricRecord({"num-examples": number(context), "eval_loss": loss, "accuracy": 0.5})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=message)


@app.query()
def query(message: Message, context: Context) -> Message:
    return Message(content=RecordDict({"config": ConfigRecord({"number": number(context)})}), reply_to=message)
