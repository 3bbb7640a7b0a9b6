"""Encryption for Flower clients, with TenSEAL."""

import numpy as np
import tenseal as ts
from flwr.client import Client
from flwr.common import Code, EvaluateRes, FitRes, GetParametersRes, Parameters, Status

# How parameters are called whose tensors are messages of TenSEAL.
HOMOMORPHIC = "homomorphic"

FINE = Status(Code.OK, "")


class Packed:
    """All layers in one tensor: every ciphertext holds as many numbers as it has slots."""

    def __init__(self, context, layers):
        self.context = context
        self.forms = [(layer.shape, layer.dtype) for layer in layers]
        self.slots = context.seal_context().data.first_context_data().parms().poly_modulus_degree() // 2

    def encrypt(self, layers):
        numbers = np.concatenate([np.ravel(layer) for layer in layers]).astype(np.float64)
        columns = -(-len(numbers) // self.slots)
        if columns > 1:  # the slots are the first dimension
            numbers = np.pad(numbers, (0, columns * self.slots - len(numbers))).reshape(columns, self.slots).T
        return [ts.ckks_tensor(self.context, numbers, batch=True).serialize()]

    def decrypt(self, messages):
        numbers = np.ravel(np.array(ts.ckks_tensor_from(self.context, messages[0]).decrypt().tolist()).T)
        layers, at = [], 0
        for shape, kind in self.forms:
            size = int(np.prod(shape))
            layers.append(numbers[at : at + size].reshape(shape).astype(kind))
            at += size
        return layers


class Unbatched:
    """A tensor for every layer, a ciphertext for every number, as older clients have it:
    a quarter of a megabyte for each. It is for models of some hundred parameters."""

    def __init__(self, context, layers):
        self.context = context
        self.forms = [(layer.shape, layer.dtype) for layer in layers]

    def encrypt(self, layers):
        return [ts.ckks_tensor(self.context, np.atleast_1d(layer).astype(np.float64)).serialize() for layer in layers]

    def decrypt(self, messages):
        return [
            np.array(ts.ckks_tensor_from(self.context, message).decrypt().tolist()).reshape(shape).astype(kind)
            for message, (shape, kind) in zip(messages, self.forms)
        ]


class Sealed(Client):
    """Encrypts what a NumPyClient sends and decrypts what it gets. Losses, metrics and the
    number of examples are sent as they are. The context has the secret key."""

    def __init__(self, client, context, form=Packed):
        self.client = client
        self.form = form(context, client.get_parameters({}))

    def seal(self, layers):
        return Parameters(tensor_type=HOMOMORPHIC, tensors=self.form.encrypt(layers))

    def open(self, parameters):
        if parameters.tensor_type != HOMOMORPHIC:
            raise ValueError(f"the collector sent parameters of type {parameters.tensor_type!r}, not {HOMOMORPHIC!r}")
        return self.form.decrypt(parameters.tensors)

    def get_parameters(self, ins):
        return GetParametersRes(FINE, self.seal(self.client.get_parameters(ins.config)))

    def fit(self, ins):
        layers, examples, metrics = self.client.fit(self.open(ins.parameters), ins.config)
        return FitRes(FINE, self.seal(layers), examples, metrics)

    def evaluate(self, ins):
        loss, examples, metrics = self.client.evaluate(self.open(ins.parameters), ins.config)
        return EvaluateRes(FINE, float(loss), examples, metrics)
