"""Kernel files of known verdict for loads on `kgen serve`, all for f32 of the suite smoke.

`kernel(kind, number)` gives an op, a source that no other number has, and the verdicts that are right.
"""
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLAN = """/*@plan
x = contiguous(self)
n = x.numel
launch("k", grid=cdiv(n, 64), block=64, args=[x, out, n])
@*/
"""
KERNEL = PLAN + """HEAD
extern "C" __global__ void k(const T_self* x, T_out* y, long long n) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { BODY }
}
"""
BODIES = {
    # The number is in the finding, by which an answer for another kernel would be seen.
    "wrong": ("y[i] = (T_out)(NUMBER + 1000000);", ["wrong_output"]),
    "hanging": ("volatile unsigned odd = 1; while (odd) odd += 2; y[i] = x[i];", ["timed_out", "deadlock"]),
    "faulting": ("y[i] = x[i + (1ll << 40)];", ["fault"]),
    "broken": ("y[i] = no_such_name;", ["compile_error"]),
    # Memory ends the compiler on a fast machine, time on a slow one.
    "bomb": ("int v = (int)i; S6 y[i] = (T_out)v;", ["compile_error", "timed_out"]),
}
BOMB = "#define S0 v = v * 3 + (v >> 2);\n" + "".join(
    f"#define S{level} {' '.join([f'S{level - 1}'] * 10)}\n" for level in range(1, 7)
)


def recorded():
    """The last attempt at each op of the recorded session, which passes."""
    found = {}
    for path in sorted((ROOT / "generated_kernels/demo").glob("*/*_attempt_*.cu")):
        found[path.parent.name] = path.read_text()
    return sorted(found.items())


RIGHT = recorded()


def kernel(kind, number):
    """Returns op, source and verdicts."""
    if kind == "right":
        op, source = RIGHT[number % len(RIGHT)]
        return op, f"// {number}\n{source}", ["passed"]
    body, verdicts = BODIES[kind]
    source = KERNEL.replace("HEAD", BOMB if kind == "bomb" else "").replace("BODY", body)
    return "relu", f"// {number}\n{source.replace('NUMBER', str(number))}", verdicts
