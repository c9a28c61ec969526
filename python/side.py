"""The side process: it runs and times PyTorch implementations of ops on tensors that kgen holds.

    python -u side.py --socket PATH --device cuda:0|cpu

One line on stdout says that it is ready or why not; afterwards it answers JSON lines on the Unix socket PATH. README.md
beside this file describes the protocol. The process ends when its standard input closes. It needs the standard library and
torch; triton and flag_gems are used where they are installed. `kgen_side` beside this file is the program.
"""

import os

# Small graphs gain nothing from a pool of compiling processes, and there is nothing left to end when this process ends.
os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

from kgen_side.main import main  # noqa: E402

if __name__ == "__main__":
    main()
