/*@plan
@PLAN@
launch("map", grid=cdiv(out.numel, 128), block=128, args=[x, out, out.numel, off@ARGS@,
    e0, e1, e2, e3, e4, e5, e6, e7, t0, t1, t2, t3, t4, t5, t6, t7, m0, m1, m2, m3, m4, m5, m6, m7, h0, h1, h2, h3, h4, h5, h6, h7])
@*/

// Where place q of a dimension of m places lies.
__device__ long long place(long long q, long long m, bool& inside) {
    @FIX@
    return q;
}

// A thread per output finds its input.
extern "C" __global__ void map(const T_self* x, T_out* out, long long count, long long off@PARAMS@,
        long long e0, long long e1, long long e2, long long e3, long long e4, long long e5, long long e6, long long e7,
        long long t0, long long t1, long long t2, long long t3, long long t4, long long t5, long long t6, long long t7,
        long long m0, long long m1, long long m2, long long m3, long long m4, long long m5, long long m6, long long m7,
        long long h0, long long h1, long long h2, long long h3, long long h4, long long h5, long long h6, long long h7) {
    const long long i = blockIdx.x * 128ll + threadIdx.x;
    if (i >= count) {
        return;
    }
    bool inside = true;
    long long rem = i;
    long long from = off;
    const long long c7 = rem % e7;
    rem /= e7;
    from += place(c7 + h7, m7, inside) * t7;
    const long long c6 = rem % e6;
    rem /= e6;
    from += place(c6 + h6, m6, inside) * t6;
    const long long c5 = rem % e5;
    rem /= e5;
    from += place(c5 + h5, m5, inside) * t5;
    const long long c4 = rem % e4;
    rem /= e4;
    from += place(c4 + h4, m4, inside) * t4;
    const long long c3 = rem % e3;
    rem /= e3;
    from += place(c3 + h3, m3, inside) * t3;
    const long long c2 = rem % e2;
    rem /= e2;
    from += place(c2 + h2, m2, inside) * t2;
    const long long c1 = rem % e1;
    rem /= e1;
    from += place(c1 + h1, m1, inside) * t1;
    const long long c0 = rem % e0;
    rem /= e0;
    from += place(c0 + h0, m0, inside) * t0;
    @GET@
}
