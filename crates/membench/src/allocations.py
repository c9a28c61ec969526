# Times PyTorch's caching allocator: the number of the GPU, then sizes in bytes. Prints a line of JSON per size:
# the size, and nanoseconds of allocating and of freeing, in pairs.
import json
import sys
import time

import torch

torch.cuda.set_device(int(sys.argv[1]))
torch.cuda.init()
clock = time.perf_counter_ns
for size in map(int, sys.argv[2:]):
    times = []
    try:
        for _ in range(26):
            began = clock()
            tensor = torch.empty(size, dtype=torch.uint8, device="cuda")
            allocated = clock()
            del tensor
            times.append([allocated - began, clock() - allocated])
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError:
        times = []
    torch.cuda.empty_cache()
    # The first one asks the driver; all others are served from what it keeps.
    print(json.dumps([size, times[1:]]), flush=True)
