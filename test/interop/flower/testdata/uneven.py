"""Softmax regression on uneven data: what clients of one training do, alike at every run.

A case is a dict of
    name      what it goes by
    clients   how many there are
    split     how the examples are dealt out: even, two or one (labels a client), dirichlet,
              or bulk (80 % of them to the first client)
    rate      the learning rates of the rounds: steady, jump or warmup
    model     the type of its weights, float32 or float16
    counter   whether it has layers of whole numbers, as batch normalization has them
    answers   the types of what clients send: same, float64 (all of them), one (of them float64)
    attack    what the last client does, if it lies
"""

import numpy as np

FEATURES, CLASSES, EXAMPLES, STEPS = 12, 10, 1600, 4


def points():
    random = np.random.default_rng(11)
    centers = random.normal(0, 1.2, (CLASSES, FEATURES))
    labels = random.integers(0, CLASSES, EXAMPLES)
    return centers[labels] + random.normal(0, 1, (EXAMPLES, FEATURES)), labels


def deal(split, clients, labels):
    """The examples of each client, at least one."""
    random = np.random.default_rng(12)
    if split == "even":
        return np.array_split(random.permutation(EXAMPLES), clients)
    if split == "bulk":
        mixed = random.permutation(EXAMPLES)
        most = EXAMPLES * 8 // 10
        return [mixed[:most], *np.array_split(mixed[most:], clients - 1)]
    if split in ("two", "one"):
        wanted = [{(2 * k) % CLASSES, (2 * k + 1) % CLASSES} if split == "two" else {k % CLASSES} for k in range(clients)]
        return [np.array([i for i in range(k, EXAMPLES, 2) if labels[i] in wanted[k]]) for k in range(clients)]
    parts = [[i] for i in range(clients)]
    for label in range(CLASSES):
        own = np.flatnonzero(labels == label)
        ends = (np.cumsum(random.dirichlet([0.1] * clients)) * len(own)).astype(int)[:-1]
        for part, more in zip(parts, np.split(own, ends)):
            part.extend(more)
    return [np.array(part) for part in parts]


def initial(case):
    random = np.random.default_rng(13)
    kind = np.dtype(case["model"])
    layers = [random.normal(0, 0.1, (FEATURES, CLASSES)).astype(kind), np.zeros(CLASSES, kind)]
    return layers + [np.array(7, np.int64), np.array([3, 5], np.int64)] if case["counter"] else layers


def rate(case, fit):
    return {"steady": 0.3, "jump": 0.001 if fit < 3 else 0.3, "warmup": 0.0003 * 10 ** min(fit - 1, 3)}[case["rate"]]


class Client:
    """One of the clients of a case."""

    def __init__(self, case, number):
        self.case, self.number, self.fits = case, number, 0
        inputs, labels = points()
        part = deal(case["split"], case["clients"], labels)[number]
        self.inputs, self.labels = inputs[part], labels[part]

    def fit(self, layers):
        """The layers that it sends, and the number of its examples."""
        self.fits += 1
        weights, bias = (layer.astype(np.float64) for layer in layers[:2])
        wanted = np.eye(CLASSES)[self.labels]
        for _ in range(STEPS):
            scores = self.inputs @ weights + bias
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            wrong = (odds / odds.sum(axis=1, keepdims=True) - wanted) / len(wanted)
            weights = weights - rate(self.case, self.fits) * (self.inputs.T @ wrong)
            bias = bias - rate(self.case, self.fits) * wrong.sum(axis=0)
        kind = np.dtype(self.case["model"])
        if self.case["answers"] == "float64" or self.case["answers"] == "one" and self.number == 1:
            kind = np.dtype(np.float64)
        batches = STEPS * (len(self.labels) + 15) // 16
        made = [weights.astype(kind), bias.astype(kind)] + [layer + np.int64(batches) for layer in layers[2:]]
        made = [np.asarray(layer) for layer in made]
        if self.case["attack"] and self.number == self.case["clients"] - 1:
            made = lie(self.case["attack"], [np.asarray(layer) for layer in layers], made, self.fits)
        return made, len(self.labels)


def lie(attack, before, honest, fit):
    """What a client sends instead of an honest update."""
    random = np.random.default_rng(100 + fit)
    made = [layer.copy() for layer in honest]
    for i in range(2):
        change = honest[i].astype(np.float64) - before[i]
        if attack == "scaled":
            change = 1000 * change
        elif attack == "flipped":
            change = -1000 * change
        elif attack == "noise":
            change = random.normal(0, 100, change.shape)
        elif attack == "hidden":  # shorter than the way of honest counters
            change = -30 * change
        made[i] = (before[i] + change).astype(honest[i].dtype)
    if attack == "nan":
        made[0][0, 0] = np.nan
    elif attack == "infinite":
        made[1][0] = -np.inf
    elif attack == "counter":
        made[2] = made[2] + np.int64(2**40)
    return made
