# Made by `kgen export`; a build by kernel-builder has a file of its own in this place.
"""Where the op is registered: in a namespace that no other kernel has."""

import torch

_NAMESPACE = "KERNEL_ID"

ops = getattr(torch.ops, _NAMESPACE)


def add_op_namespace_prefix(op_name):
    return f"{_NAMESPACE}::{op_name}"
