"""Writes PyTorch's schemas of the ATen overloads that kgen knows, one a line.

    kgen list ops --format json | python schemas.py > ../crates/ops-check/schemas.txt

In-place and out variants are left out: they have the schema of their functional overload."""

import json
import re
import sys

import torch


def main():
    bases = set()
    for op in json.load(sys.stdin)["data"]:
        for name in [op["overload"], op["op"], *op["aliases"]]:
            name = name.removeprefix("aten.")
            bases.add(name.split(".")[0])
    lines = set()
    for base in bases:
        packet = getattr(torch.ops.aten, base, None)
        for overload in packet.overloads() if packet else []:
            schema = getattr(packet, overload)._schema
            text = str(schema)
            # Named dimensions are retired; what takes no tensors is TorchScript's.
            if schema.is_mutable or "Dimname" in text or "Tensor" not in text.split(" -> ")[0]:
                continue
            lines.add(re.sub(r"\([a-z]+(!|\|[^)]*)?( -> \*)?\)", "", text))
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main()
