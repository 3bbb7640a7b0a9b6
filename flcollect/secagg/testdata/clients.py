"""Clients of SecAgg+ with the mod of Flower, in one process.

Standard input has one request a line: {"client": id, "request": {name: value}}. Standard
output has one answer a line: {"answer": {name: value}} or {"error": text}. A value is an
object with its type as the only name: int, float, text, bytes, ints or blobs; bytes are in
base64. A line {"client": id, "examples": n, "arrays": [[...], shape]} says what it trains.
"""

import base64
import json
import sys

import numpy
from flwr.client.mod import secaggplus_mod
from flwr.common import (Code, ConfigRecord, Context, FitRes, Message, RecordDict, Status,
                         ndarrays_to_parameters)

try:
    from flwr.compat.common import recorddict_compat as compat
except ImportError:
    from flwr.common import recorddict_compat as compat

try:  # messages of newer releases ask for it
    from flwr.supercore.task_identity import TaskIdentity
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
except ImportError:
    pass

RECORD = "secaggplus_configs"


def read(value):
    (kind, content), = value.items()
    if kind == "bytes":
        return base64.b64decode(content)
    if kind == "blobs":
        return [base64.b64decode(blob) for blob in content]
    return float(content) if kind == "float" else content


def write(value):
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, float):
        return {"float": value}
    if isinstance(value, str):
        return {"text": value}
    if value and isinstance(value[0], bytes):
        return {"blobs": [base64.b64encode(blob).decode() for blob in value]}
    return {"ints": list(value)}


class Client:
    """A client with its state between messages."""

    def __init__(self, number, examples, arrays):
        self.number = number
        self.context = Context(1, number, {}, RecordDict(), {})
        self.trained = FitRes(Status(Code.OK, ""), ndarrays_to_parameters(
            [numpy.array(values, dtype=numpy.float32).reshape(shape) for values, shape in arrays]), examples, {})

    def train(self, message, context):
        return Message(compat.fitres_to_recorddict(self.trained, keep_input=True), reply_to=message)

    def answer(self, request):
        values = {name: read(value) for name, value in request.items()}
        message = Message(RecordDict({RECORD: ConfigRecord(values)}), dst_node_id=self.number, message_type="train")
        reply = secaggplus_mod(message, self.context, self.train)
        return {name: write(value) for name, value in reply.content.config_records[RECORD].items()}


clients = {}
for line in sys.stdin:
    asked = json.loads(line)
    number = asked["client"]
    try:
        if "arrays" in asked:
            clients[number] = Client(number, asked["examples"], asked["arrays"])
            said = {"answer": {}}
        else:
            said = {"answer": clients[number].answer(asked["request"])}
    except Exception as error:  # the server has to see every failure
        said = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(said), flush=True)
