//! Help texts.

pub(super) const GENERAL: &str = "\
Runs kernels of PTX files on a CPU and reports what they do wrong.

Usage:
  ptx-emu run FILE.ptx --grid X[,Y,Z] --block X[,Y,Z] [--arg NAME=..].. [OPTION]..
  ptx-emu list FILE.ptx
  ptx-emu --help | --version

Commands:
  run    run one kernel; `ptx-emu run --help` shows its arguments
  list   show kernels, parameters, memory, and instructions that are not known

Exit codes:
  0 clean   1 findings   2 usage   3 files   4 unsupported instruction   5 deadlock or budget
";

pub(super) const RUN: &str = "\
Runs one kernel of a PTX file.

Usage:
  ptx-emu run FILE.ptx --grid X[,Y,Z] --block X[,Y,Z] [--arg NAME=..].. [OPTION]..

Arguments of the kernel, in its order:
  --arg NAME=in:TYPE:DATA            an array the kernel reads
  --arg NAME=inout:TYPE:DATA[:FILE]  an array it changes; FILE gets the result
  --arg NAME=out:TYPE:SHAPE[:FILE]   an array it must write whole; FILE gets the result
  --arg NAME=TYPE:VALUE              a number
  --arg NAME=hex:BYTES               a struct by value
  --arg NAME=null                    a null pointer
  TYPE   f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8
  DATA   a .npy file, any other file as raw little-endian elements, or
         @zeros,N @ones,N @arange,N @rand,N[,SEED]  (uniform in [-1, 1))
  SHAPE  1024 or 32x64

Options:
  --kernel NAME       mangled or plain name; not needed where there is one kernel
  --smem BYTES        dynamic shared memory
  --cluster X[,Y,Z]   blocks of a cluster, if the kernel does not say
  --sanitize LIST     full (default), memory, bounds, or any of
                      init,taint,races,numerics
  --counters          count instructions, sectors, wavefronts
  --blocks WHICH      all (default), 1,5,7-9, or sample:COUNT[:SEED]
  --limit N           lane instructions to run at most (suffixes k M G T)
  --memory BYTES      memory of the device (suffixes K M G T)
  --expect NAME=DATA[:TOLERANCE]
                      compare an array afterwards: |got - want| may be
                      TOLERANCE * max(1, |want|); equal without it
  --source FILE.cu    source to quote; found by itself beside the PTX
  --format text|json

Examples:
  ptx-emu run relu.ptx --grid 4 --block 256 \\
      --arg x=in:f32:x.npy --arg y=out:f32:1024:y.npy --arg n=i32:1024
  ptx-emu run gemm.ptx --kernel gemm --grid 8,8 --block 16,16 --smem 8192 \\
      --arg a=in:f16:@rand,16384 --arg b=in:f16:@rand,16384,7 \\
      --arg c=out:f32:128x128 --arg n=i32:128 --expect c=want.npy:1e-3

Exit codes:
  0 clean   1 findings   2 usage   3 files   4 unsupported instruction   5 deadlock or budget
";
