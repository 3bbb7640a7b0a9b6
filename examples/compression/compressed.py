"""Compression of the updates of Flower clients, with NumPy."""

import io

import numpy as np
from flwr.client import Client
from flwr.common import Code, EvaluateRes, FitRes, GetParametersRes, Parameters, Status
from flwr.common import ndarrays_to_parameters, parameters_to_ndarrays

FINE = Status(Code.OK, "")
LEAST_ROW = 32  # elements that a row has to have for a scale of its own


def stored(*arrays):
    """Returns arrays as .npy files, one directly after the other."""
    file = io.BytesIO()
    for array in arrays:
        np.save(file, np.ascontiguousarray(array).reshape(np.shape(array)), allow_pickle=False)
    return file.getvalue()


class Float16:
    """New weights as float16: half of the bytes of float32."""

    tensor_type = "numpy.ndarray"
    differs = False

    def compress(self, target):
        half = target.astype(np.float16)
        if not np.all(np.isfinite(half)):
            return None
        return stored(half), half.astype(np.float64)


class Int8:
    """The difference to the model as int8 with a scale for each row: a quarter of the bytes."""

    tensor_type = "enablers.int8/1"
    differs = True

    def compress(self, target):
        rows = target.ndim > 1 and target.shape[0] > 0 and target.size // target.shape[0] >= LEAST_ROW
        axes = tuple(range(1, target.ndim)) if rows else None
        most = np.max(np.abs(target), axis=axes, initial=0.0)
        scale = np.asarray(most / 127, np.float32)
        step = scale.astype(np.float64)
        if rows:
            step = step.reshape((-1,) + (1,) * (target.ndim - 1))
        q = np.rint(np.divide(target, step, out=np.zeros_like(target), where=step > 0))
        q = np.clip(q, -127, 127).astype(np.int8)
        return stored(scale, q), q * step


class TopK:
    """The greatest elements of the difference to the model: 8 bytes for each of them."""

    tensor_type = "enablers.topk/1"
    differs = True

    def __init__(self, share=0.01):
        self.share = share

    def compress(self, target):
        numbers = np.ravel(target)
        count = max(1, int(np.ceil(self.share * numbers.size)))
        chosen = np.sort(np.argpartition(np.abs(numbers), numbers.size - count)[numbers.size - count :])
        values = numbers[chosen].astype(np.float32)
        kept = np.zeros_like(numbers)
        kept[chosen] = values
        return stored(chosen.astype(np.uint32), values), kept.reshape(target.shape)


KINDS = {"float16": Float16, "int8": Int8, "topk": TopK}


class Compressed(Client):
    """Compresses what a NumPyClient sends as its update. What an update leaves out is the
    residual, which is added to the next one. Without feedback it is lost."""

    def __init__(self, client, form, feedback=True):
        self.client = client
        self.form = form
        self.feedback = feedback
        self.residual = {}  # by the index of the layer

    def get_parameters(self, ins):
        return GetParametersRes(FINE, ndarrays_to_parameters(self.client.get_parameters(ins.config)))

    def fit(self, ins):
        sent = parameters_to_ndarrays(ins.parameters)
        before = [np.array(layer) for layer in sent]  # the client may train in place
        trained, examples, metrics = self.client.fit(sent, ins.config)
        tensors = [self.layer(i, np.asarray(new), old) for i, (new, old) in enumerate(zip(trained, before))]
        return FitRes(FINE, Parameters(tensors, self.form.tensor_type), examples, metrics)

    def evaluate(self, ins):
        loss, examples, metrics = self.client.evaluate(parameters_to_ndarrays(ins.parameters), ins.config)
        return EvaluateRes(FINE, float(loss), examples, metrics)

    def layer(self, index, trained, sent):
        """Returns a layer as it is sent: compressed, or as it is where that is no shorter."""
        whole = stored(trained)
        if trained.dtype.kind != "f" or sent.dtype.kind != "f" or trained.size == 0:
            return whole
        target = trained.astype(np.float64)
        if self.form.differs:
            target = target - sent
        left = self.residual.get(index)
        if left is not None and left.shape == target.shape:
            target = target + left
        made = self.form.compress(target)
        if made is None or len(made[0]) >= len(whole):
            return whole
        if self.feedback:
            self.residual[index] = (target - made[1]).astype(np.float32)
        return made[0]
