// Baseline of rnn_tanh: a launch per layer, direction and step, a thread per unit of the hidden state.
/*@plan
x = contiguous(input)
h = contiguous(hx)
steps, batch = x.shape[0], x.shape[1]
if batch_first:
    batch, steps = x.shape[0], x.shape[1]
hidden = hx.shape[2]
directions = 2 if bidirectional else 1
per_layer = 4 if has_biases else 2
row = directions * hidden
states = scratch(4 * max(1, steps * batch * row))
below = scratch(4 * max(1, steps * batch * row))
for layer in range(num_layers):
    width = x.shape[2] if layer == 0 else row
    for direction in range(directions):
        place = layer * directions + direction
        first = place * per_layer
        w_ih, w_hh = contiguous(params[first]), contiguous(params[first + 1])
        b_ih = contiguous(params[first + 2]) if has_biases else None
        b_hh = contiguous(params[first + 3]) if has_biases else None
        for at in range(steps):
            step = steps - 1 - at if direction == 1 else at
            before = step + 1 if direction == 1 else step - 1
            launch("rnn_tanh_step", grid=cdiv(batch * hidden, 128), block=128,
                   args=[x if layer == 0 else None, None if layer == 0 else below, w_ih, w_hh, b_ih, b_hh, h,
                         states, out0 if layer == num_layers - 1 else None, out1,
                         batch, steps, step, before, at, width, hidden, directions, direction, place, batch_first])
    states, below = below, states
@*/

extern "C" __global__ void __launch_bounds__(128)
rnn_tanh_step(const T_input* __restrict__ x, const float* __restrict__ below,
          const T_params* __restrict__ w_ih, const T_params* __restrict__ w_hh,
          const T_params* __restrict__ b_ih, const T_params* __restrict__ b_hh,
          const T_hx* __restrict__ h0, float* states,
          T_out0* __restrict__ out, T_out1* __restrict__ last_h,
          long long batch, long long steps, long long step, long long before, long long at,
          long long width, long long hidden, long long directions, long long direction,
          long long place, bool batch_first) {
    const long long index = static_cast<long long>(blockIdx.x) * 128 + threadIdx.x;
    if (index >= batch * hidden) {
        return;
    }
    const long long sequence = index / hidden, unit = index % hidden, row = directions * hidden;
    const long long now = batch_first ? sequence * steps + step : step * batch + sequence;
    const long long past = batch_first ? sequence * steps + before : before * batch + sequence;
    const long long start = (place * batch + sequence) * hidden;
    const float* hidden_past = states + past * row + direction * hidden;
    const auto h_of = [&](long long i) {
        return at == 0 ? kg::to_float(h0[start + i]) : hidden_past[i];
    };
    float from_input[1], from_hidden[1];
    for (int gate = 0; gate < 1; ++gate) {
        const long long line = gate * hidden + unit;
        float sum = 0.0f;
        for (long long i = 0; i < width; ++i) {
            const float value = x ? kg::to_float(x[now * width + i]) : below[now * width + i];
            sum += kg::to_float(w_ih[line * width + i]) * value;
        }
        from_input[gate] = b_ih ? sum + kg::to_float(b_ih[line]) : sum;
        sum = 0.0f;
        for (long long i = 0; i < hidden; ++i) {
            sum += kg::to_float(w_hh[line * hidden + i]) * h_of(i);
        }
        from_hidden[gate] = b_hh ? sum + kg::to_float(b_hh[line]) : sum;
    }
    const float h = tanhf(from_input[0] + from_hidden[0]);
    states[now * row + direction * hidden + unit] = h;
    if (out) {
        out[now * row + direction * hidden + unit] = kg::from_float<T_out0>(h);
    }
    if (at == steps - 1) {
        last_h[start + unit] = kg::from_float<T_out1>(h);
    }
}
