# Made by `kgen export`.
"""Times the kernel beside eager PyTorch, for `kernels benchmark`.

The runner times calls from the host, so that both times hold the launch. The numbers in CARD.md are of the GPU alone.
"""

import torch
from kernels.benchmark import Benchmark

# Arguments by workload; a tensor is dtype, shape, strides, offset, kind of values.
WORKLOADS = {}


class CLASSNAMEBenchmark(Benchmark):
    seed = 0
    judged = None

    def prepare(self, described):
        make, generator = self.kernel.kernel._make, torch.Generator(self.device).manual_seed(self.seed)
        self.given = {name: make(value, generator, self.device) for name, value in described.items()}

    def call(self):
        self.out = self.kernel.OPNAME(**self.given)

    def verify(self):
        """Calls eager PyTorch, and judges the outputs the first time.

        The runner compares `out` by one tolerance for all types, which passes wrong small numbers and fails right
        large ones. So the outputs are judged here, as `check()` does, and then compared with themselves.
        """
        kernel = self.kernel.kernel
        eager = kernel._call_eager(self.given)
        if self.out is not self.judged:
            got = list(self.out) if isinstance(self.out, (list, tuple)) else [self.out]
            exact = kernel._reference(self.given) or [None] * len(eager)
            for number, outputs in enumerate(zip(got, eager, exact)):
                error, is_right = kernel._compare(*outputs)
                if not is_right:
                    raise RuntimeError(f"Verification failed: output {number} of OPNAME is off by {error:.2e}")
            self.out = self.judged = torch.nan_to_num(got[0].float())
        return self.out


def _add(workload, described):
    setattr(CLASSNAMEBenchmark, f"setup_{workload}", lambda self: self.prepare(described))
    setattr(CLASSNAMEBenchmark, f"benchmark_{workload}", CLASSNAMEBenchmark.call)
    setattr(CLASSNAMEBenchmark, f"verify_{workload}", CLASSNAMEBenchmark.verify)


for _workload, _described in WORKLOADS.items():
    _add(_workload, _described)
