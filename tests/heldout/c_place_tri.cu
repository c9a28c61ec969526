/*@plan
x = contiguous(self)
r = self.ndim
launch("triangle", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, self.shape[r - 2], self.shape[r - 1], diagonal])
@*/

extern "C" __global__ void triangle(const T_self* x, T_out* out, long long count, long long rows, long long cols, long long diagonal) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    const long long col = i % cols;
    const long long row = i / cols % rows;
    const bool keep = @KEEP@;
    T_out value = x[i];
    if (!keep) {
        value = kg::from_float<T_out>(0.0f);
    }
    out[i] = value;
}
