"""Makes the keys of an encrypted training: python keys.py FOLDER [--put URL]

One of the parties does this once. FOLDER/secret.txt goes to the other parties, by a way
that the collector cannot look into: who has it reads every model. FOLDER/public.txt can
only encrypt; --put hands it to the collector, whose clients may get it there.
"""

import argparse
import base64
import os
import pathlib
import urllib.request

import tenseal as ts


def context(degree, sizes, scale):
    """Returns a new context with both keys; no other key is of use to a mean."""
    made = ts.context(ts.SCHEME_TYPE.CKKS, poly_modulus_degree=degree, coeff_mod_bit_sizes=sizes)
    made.global_scale = 2**scale
    return made


def text(made, secret):
    return base64.b64encode(made.serialize(
        save_secret_key=secret, save_public_key=True, save_galois_keys=False, save_relin_keys=False))


def load(name):
    """Returns the context of a key file."""
    return ts.context_from(base64.b64decode(pathlib.Path(name).read_bytes()))


def main():
    options = argparse.ArgumentParser(description="Makes the keys of an encrypted training.")
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--put", metavar="URL", help="where the collector has the job's public key")
    options.add_argument("--degree", type=int, default=8192, help="poly_modulus_degree of the job")
    options.add_argument("--sizes", type=int, nargs="+", default=[60, 40, 40], help="coeff_mod_bit_sizes of the job")
    options.add_argument("--scale", type=int, default=40, help="scale_bits of the job")
    chosen = options.parse_args()

    made = context(chosen.degree, chosen.sizes, chosen.scale)
    public = text(made, secret=False)
    chosen.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    secret = os.open(chosen.folder / "secret.txt", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)  # never over another
    with os.fdopen(secret, "wb") as file:
        file.write(text(made, secret=True))
    (chosen.folder / "public.txt").write_bytes(public)
    if chosen.put:
        request = urllib.request.Request(
            chosen.put, data=public, method="PUT", headers={"Content-Type": "application/octet-stream"})
        with urllib.request.urlopen(request):
            pass


if __name__ == "__main__":
    main()
