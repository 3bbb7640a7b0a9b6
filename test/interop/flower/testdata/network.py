"""A small neural network that every client trains on data of its own, alike at every run.

Its layers are W1, b1 (32-bit), W2, b2 (64-bit), and, where there is a fifth, a counter of
whole numbers that every client raises by another amount.
"""

import numpy as np

FEATURES, HIDDEN, CLASSES = 6, 5, 3


def initial(counter):
    random = np.random.default_rng(7)
    layers = [random.normal(0, 0.5, (FEATURES, HIDDEN)).astype(np.float32), np.zeros(HIDDEN, np.float32),
              random.normal(0, 0.5, (HIDDEN, CLASSES)), np.zeros(CLASSES)]
    return layers + [np.array([100], np.int64)] if counter else layers


def other_start():
    """What a client begins with if it is asked."""
    return [layer + layer.dtype.type(0.25) for layer in initial(counter=False)]


def data(number):
    """The examples of a client: their number and their distribution are its own."""
    random = np.random.default_rng(1000 + number)
    inputs = random.normal(0.2 * number, 1.0, (40 + 13 * number, FEATURES))
    teacher = np.random.default_rng(5).normal(0, 1, (FEATURES, CLASSES))
    return inputs, (inputs @ teacher + random.normal(0, 0.3, (len(inputs), CLASSES))).argmax(axis=1)


def forward(layers, inputs):
    hidden = np.tanh(inputs @ layers[0].astype(np.float64) + layers[1].astype(np.float64))
    scores = hidden @ layers[2] + layers[3]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden, odds / odds.sum(axis=1, keepdims=True)


def evaluate(layers, number):
    """The loss, the number of examples and the accuracy with a client's data."""
    inputs, labels = data(number)
    _, odds = forward(layers, inputs)
    loss = -np.log(odds[np.arange(len(labels)), labels] + 1e-12).mean()
    return float(loss), len(labels), float((odds.argmax(axis=1) == labels).mean())


def common_loss(layers, clients):
    """The loss with the data of all clients."""
    parts = [evaluate(layers, number) for number in range(clients)]
    return sum(loss * examples for loss, examples, _ in parts) / sum(examples for _, examples, _ in parts)


def train(layers, number, steps, rate, proximal=0.0):
    """Full-batch gradient descent; returns the new layers and the number of examples."""
    inputs, labels = data(number)
    wanted = np.eye(CLASSES)[labels]
    start = [layer.astype(np.float64) for layer in layers[:4]]
    now = [layer.copy() for layer in start]
    for _ in range(steps):
        hidden, odds = forward(now, inputs)
        wrong = (odds - wanted) / len(labels)
        back = (wrong @ now[2].T) * (1 - hidden**2)
        gradients = [inputs.T @ back, back.sum(axis=0), hidden.T @ wrong, wrong.sum(axis=0)]
        now = [w - rate * (g + proximal * (w - s)) for w, g, s in zip(now, gradients, start)]
    trained = [w.astype(layer.dtype) for w, layer in zip(now, layers)]
    if len(layers) == 5:
        trained.append((layers[4] + 1 + number % 3).astype(layers[4].dtype))
    return trained, len(labels)
