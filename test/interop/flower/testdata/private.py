"""A client of the tests of the privacy mechanisms: python private.py '{"server": "HOST:PORT", …}'.

    server    address of the Flower server
    example   folder of the example whose encryption and clipping are tried
    number    which client it is, from 0
    sizes     how many numbers each layer of its model has
    examples  how many it says that it has trained with
    reach     the length of its steps; 0 means that of a standard normal vector
    secret    the key file; without it nothing is encrypted
    unbatched a ciphertext for every number
    blind     goes on with its own model instead of decrypting the one that it gets
    clipping  "own" is that of the example, "flower" that of this Flower
    folder    where it writes what it sends and gets
    again     connects again whenever a training or a connection has ended
    gate      a folder: the k-th fit ends once there is a file k

What it sends in its K-th fit, and gets to evaluate for the K-th time, is in
NUMBER-sent-K.npy and NUMBER-got-K.npy of the folder, decrypted, all layers in a row.
It writes "fit K CONFIG" as client.py does, and "clipped K BIT" where it clips.
"""

import json
import pathlib
import sys

OPTIONS = json.loads(sys.argv[1])
sys.path.insert(0, OPTIONS["example"])

import numpy as np  # noqa: E402
import party  # noqa: E402
from flwr.client import NumPyClient  # noqa: E402


def start():
    """What every client would begin with."""
    return [np.random.default_rng(k).normal(0, 1, size) for k, size in enumerate(OPTIONS["sizes"])]


def steps():
    """What this client adds to a model, the same in every fit."""
    random = np.random.default_rng(1000 + OPTIONS["number"])
    made = [random.normal(0, 1, size) for size in OPTIONS["sizes"]]
    if OPTIONS["reach"]:
        length = np.sqrt(sum(np.sum(step * step) for step in made))
        made = [step * (OPTIONS["reach"] / length) for step in made]
    return made


class Adder(NumPyClient):
    def get_parameters(self, config):
        return start()

    def fit(self, parameters, config):
        return [layer + step for layer, step in zip(parameters, steps())], OPTIONS["examples"], {}

    def evaluate(self, parameters, config):
        return 1.0, OPTIONS["examples"], {}


class Witness(NumPyClient):
    """Writes down what another client sends and gets."""

    def __init__(self, client):
        super().__init__()
        self.client = client
        self.fits = self.evaluations = 0

    def write(self, what, number, layers):
        name = pathlib.Path(OPTIONS["folder"]) / f"{OPTIONS['number']}-{what}-{number}.npy"
        np.save(name, np.concatenate([np.ravel(layer) for layer in layers]).astype(np.float64))

    def get_parameters(self, config):
        return self.client.get_parameters(config)

    def fit(self, parameters, config):
        self.fits += 1
        party.begin_fit(self.fits, config, OPTIONS.get("gate"))
        layers, examples, metrics = self.client.fit(parameters, config)
        self.write("sent", self.fits, layers)
        if "dpfedavg_norm_bit" in metrics:
            party.say("clipped", self.fits, int(not metrics["dpfedavg_norm_bit"]))
        return layers, examples, metrics

    def evaluate(self, parameters, config):
        self.evaluations += 1
        self.write("got", self.evaluations, parameters)
        return self.client.evaluate(parameters, config)


client = Adder()
if OPTIONS["clipping"] == "flower":
    from flwr.client.dpfedavg_numpy_client import DPFedAvgNumPyClient

    client = DPFedAvgNumPyClient(client)
elif OPTIONS["clipping"] == "own":
    from clipped import Clipped

    client = Clipped(client)
client = Witness(client)
if OPTIONS["secret"]:
    import keys
    import sealed

    class Blind(sealed.Sealed):
        def open(self, parameters):
            return start()

    form = sealed.Unbatched if OPTIONS["unbatched"] else sealed.Packed
    client = (Blind if OPTIONS["blind"] else sealed.Sealed)(client, keys.load(OPTIONS["secret"]), form)
party.join(client, OPTIONS["server"], OPTIONS["again"])
