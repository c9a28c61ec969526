"""Where the tensors of a call lie."""

import mmap

from .driver import DeviceBytes
from .refusal import bad, torch
from .tensors import laid_out


class Memory:
    """The places of one handle's tensors. Views of kgen's memory live as long as this does."""

    def __init__(self, device, mappings):
        self.device = device
        self.mappings = mappings
        self.ipc = []
        self.copies = []
        self.storages = set()

    def tensor(self, spec):
        raw = self.raw(spec["at"])
        if raw.device.type != self.device.type:
            copy = raw.to(self.device)
            self.copies.append((copy, raw))
            raw = copy
        self.storages.add(raw.untyped_storage().data_ptr())
        return laid_out(raw, spec)

    def place(self, spec):
        """The contiguous tensor an output is copied to: on the device or, for a file, on the host."""
        return laid_out(self.raw(spec["at"]), {"dtype": spec["dtype"], "shape": spec["shape"]})

    def raw(self, place):
        n_bytes = place["bytes"]
        if not n_bytes:
            return torch.empty(0, dtype=torch.uint8, device=self.device)
        if "ipc" in place:
            return torch.as_tensor(DeviceBytes(self.address(place), n_bytes), device=self.device)
        offset = place.get("byte_offset", 0)
        with open(place["shm"], "r+b") as file:
            mapped = mmap.mmap(file.fileno(), offset + n_bytes)
        return torch.frombuffer(mapped, dtype=torch.uint8, count=n_bytes, offset=offset)

    def address(self, place):
        if self.mappings is None:
            raise bad("device memory is not shared with the CPU")
        base = self.mappings.open(place["ipc"])
        self.ipc.append(place["ipc"])
        return base + place.get("byte_offset", 0)

    def refresh(self):
        """Takes what kgen has written to files since."""
        for copy, source in self.copies:
            copy.copy_(source)

    def close(self):
        self.copies.clear()
        while self.ipc:
            self.mappings.close(self.ipc.pop())
