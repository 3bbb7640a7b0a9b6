"""A client that sends what the original's local operations send, for Flower 1.3.0 and TenSEAL.

python original.py keys FILE makes the secret context as the original's script does: of
60, 40 and 60 bits, with Galois keys, in base64.

python original.py '{"server": "HOST:PORT", "number": 0, "secret": FILE, "folder": FOLDER}' takes part in one
training. Without secret it comes by start_numpy_client, and its model has a layer without dimensions
and of whole numbers, as the state of a model of PyTorch does. With secret it is a client of its own:
every layer is a CKKS tensor with a ciphertext for each number, what has no dimension has one, and what
comes back are 32-bit numbers. Settings of fits do not concern it, fits have no metrics, evaluations
those that the configuration of the local operations names. What it sends and gets is in
FOLDER/NUMBER-sent-K.npz and FOLDER/NUMBER-got-K.npz.
"""

import base64
import json
import os
import sys

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"

import numpy as np  # noqa: E402
from flwr.client import Client, NumPyClient, start_client, start_numpy_client  # noqa: E402
from flwr.common import Code, EvaluateRes, FitRes, GetParametersRes, GetPropertiesRes, Parameters, Status  # noqa: E402

FINE = Status(Code.OK, "Success")


class Local(NumPyClient):
    """Trains with as many examples as its number says."""

    def __init__(self, number, folder):
        super().__init__()
        self.number, self.folder, self.fits, self.evaluations = number, folder, 0, 0

    def keep(self, what, number, layers):
        np.savez(os.path.join(self.folder, f"{self.number}-{what}-{number}.npz"), *layers)

    def get_parameters(self, config):
        random = np.random.default_rng(3)
        return [random.normal(0, 1, (3, 2)).astype(np.float32), np.zeros(2, np.float32), np.array(4, np.int64)]

    def fit(self, parameters, config):
        self.fits += 1
        random = np.random.default_rng(10 * self.number + self.fits)
        made = [layer + random.normal(0, 0.1, layer.shape).astype(np.float32) for layer in parameters[:2]]
        made.append(parameters[2] + parameters[2].dtype.type(2 * self.number))
        self.keep("sent", self.fits, made)
        return made, 10 + 20 * self.number, {}

    def evaluate(self, parameters, config):
        self.evaluations += 1
        self.keep("got", self.evaluations, parameters)
        return 2.5 - self.number, 10 + 20 * self.number, {"accuracy": 0.5 + self.number / 10, "AUC": 0.25}


class Sealed(Client):
    def __init__(self, client, context):
        super().__init__()
        self.client, self.context = client, context

    def seal(self, layers):
        tensors = [ts.ckks_tensor(self.context, ts.plain_tensor(layer if layer.shape else [layer])) for layer in layers]
        return Parameters(tensors=[tensor.serialize() for tensor in tensors], tensor_type="homomorphic")

    def open(self, parameters):
        tensors = [ts.ckks_tensor_from(self.context, tensor) for tensor in parameters.tensors]
        return [np.array(tensor.decrypt().tolist(), dtype=np.float32) for tensor in tensors]

    def get_properties(self, ins):
        return GetPropertiesRes(status=FINE, properties=self.client.get_properties(ins.config))

    def get_parameters(self, ins):
        return GetParametersRes(status=FINE, parameters=self.seal(self.client.get_parameters(ins)))

    def fit(self, ins):
        layers, examples, metrics = self.client.fit(self.open(ins.parameters), ins.config)
        return FitRes(status=FINE, parameters=self.seal(layers), num_examples=examples, metrics=metrics)

    def evaluate(self, ins):
        loss, examples, metrics = self.client.evaluate(self.open(ins.parameters), ins.config)
        return EvaluateRes(status=FINE, loss=loss, num_examples=examples, metrics=metrics)


if sys.argv[1] == "keys":
    import tenseal as ts

    context = ts.context(ts.SCHEME_TYPE.CKKS, poly_modulus_degree=8192, coeff_mod_bit_sizes=[60, 40, 60])
    context.generate_galois_keys()
    context.global_scale = 2**40
    with open(sys.argv[2], "wb") as file:
        file.write(base64.b64encode(context.serialize(save_secret_key=True)))
    sys.exit()
OPTIONS = json.loads(sys.argv[1])
client = Local(OPTIONS["number"], OPTIONS["folder"])
if OPTIONS.get("secret"):
    import tenseal as ts

    with open(OPTIONS["secret"], "rb") as file:
        context = ts.context_from(base64.b64decode(file.read()))
    start_client(server_address=OPTIONS["server"], client=Sealed(client, context))
else:
    start_numpy_client(server_address=OPTIONS["server"], client=client)
