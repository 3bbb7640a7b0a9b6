"""Writes vectors.json: what Flower's own functions return. Run with the packages flwr==1.30.0."""
import base64
import json
import sys

import numpy as np
from cryptography.fernet import Fernet
from flwr.common.secure_aggregation.crypto.shamir import combine_shares, create_shares
from flwr.common.secure_aggregation.crypto.symmetric_encryption import generate_shared_key
from flwr.common.secure_aggregation.quantization import dequantize
from flwr.common.secure_aggregation.secaggplus_utils import (
    pseudo_rand_gen,
    share_keys_plaintext_concat,
)
from flwr.supercore.primitives.asymmetric import (
    generate_key_pairs,
    private_key_to_bytes,
    public_key_to_bytes,
)


def text(data):
    return base64.b64encode(data).decode()


rng = np.random.default_rng(7)
masks = []
for modulus in (2, 4, 1 << 10, 1 << 22, 1 << 31, 1 << 32, 1 << 33, 1 << 48, 1 << 62):
    for length in (4, 32, 44):
        seed = rng.bytes(length)
        arrays = pseudo_rand_gen(seed, modulus, [(1,), (30, 50), (), (0, 3), (7,)])
        flat = [int(n) for array in arrays for n in np.ravel(array)]
        masks.append({"seed": text(seed), "modulus": str(modulus), "length": len(flat),
                      "first": [str(n) for n in flat[:4]], "last": [str(n) for n in flat[-4:]],
                      "sum": str(sum(flat) % (1 << 64))})
# MT19937 with the seeds at the ends of 32 bits.
for word in (0, 1, (1 << 32) - 1):
    seed = word.to_bytes(4, "little")
    flat = [int(n) for n in pseudo_rand_gen(seed, 1 << 32, [(2000,)])[0]]
    masks.append({"seed": text(seed), "modulus": str(1 << 32), "length": len(flat),
                  "first": [str(n) for n in flat[:4]], "last": [str(n) for n in flat[-4:]],
                  "sum": str(sum(flat) % (1 << 64))})

secrets = []
for length, threshold, count in ((32, 2, 3), (32, 3, 5), (15, 4, 4), (16, 5, 9), (306, 7, 11)):
    secret = rng.bytes(length)
    shares = create_shares(secret, threshold, count)
    assert combine_shares(shares[-threshold:]) == secret
    secrets.append({"secret": text(secret), "threshold": threshold, "shares": [text(s) for s in shares]})

pairs = []
for _ in range(3):
    (sk1, pk1), (sk2, pk2) = generate_key_pairs(), generate_key_pairs()
    key = generate_shared_key(sk1, pk2)
    data = share_keys_plaintext_concat((1 << 64) - 1, 3, rng.bytes(52), rng.bytes(324))
    pairs.append({"private": [private_key_to_bytes(k).decode() for k in (sk1, sk2)],
                  "public": [public_key_to_bytes(k).decode() for k in (pk1, pk2)],
                  "key": key.decode(), "data": text(data), "token": Fernet(key).encrypt(data).decode()})

sums = [[int(n) for n in rng.integers(0, 3 * (1 << 22), 20)] for _ in range(2)]
means = []
for clipping, levels, weight, numbers in ((8.0, 1 << 22, 1234567, sums[0]), (3.0, 1 << 20, 98765, [n >> 2 for n in sums[1]])):
    vector = dequantize([np.array(numbers)], clipping, levels)[0]
    vector += -(3 - 1) * clipping
    vector *= levels / np.int64(weight)
    means.append({"clipping": clipping, "levels": levels, "clients": 3, "weight": weight,
                  "sums": numbers, "mean": [float(n).hex() for n in vector]})

json.dump({"masks": masks, "secrets": secrets, "pairs": pairs, "means": means}, sys.stdout, indent=1)
print()
