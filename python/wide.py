# In front of module.py and function.py: arithmetic in f64 whatever types the code asks for.
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

NARROW = (torch.float32, torch.float16, torch.bfloat16)


class Wide(TorchDispatchMode):
    """Keeps every floating-point tensor in f64, but for those of 8 bits."""

    def __enter__(self):
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *error):
        torch.set_default_dtype(self.before)
        return super().__exit__(*error)

    def __torch_dispatch__(self, operator, _types, args=(), kwargs=None):
        args, kwargs = tree_map(self.type, (args, kwargs or {}))
        return tree_map(self.tensor, operator(*args, **kwargs))

    @staticmethod
    def type(value):
        return torch.float64 if isinstance(value, torch.dtype) and value in NARROW else value

    @staticmethod
    def tensor(value):
        return value.double() if isinstance(value, torch.Tensor) and value.dtype in NARROW else value
