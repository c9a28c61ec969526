/*@plan
x = expand(self, out.shape)
mk = expand(mask, out.shape)
fl = 1 if out.dtype == "f32" or out.dtype == "f16" or out.dtype == "bf16" or out.dtype == "f64" else 0
vf = f32(value)
vi = 0
if fl == 0:
    vi = i32(value) if abs(value) < 2147483648 else value
launch("fill", grid=cdiv(out.numel, 128), block=128, args=[x, mk, out, out.numel, vf, vi])
@*/

extern "C" __global__ void fill(const T_self* x, const T_mask* mask, T_out* out, long long count, float vf, long long vi) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    T_out filled = kg::from_float<T_out>(vf);
    if (sizeof(kg::acc_t<T_out>) == 8) {
        filled = kg::from_acc<T_out>(static_cast<kg::acc_t<T_out>>(vi));
    }
    out[i] = mask[i] ? filled : x[i];
}
