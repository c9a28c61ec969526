//! Launches a kernel of a corpus file on typed arguments.

use std::path::PathBuf;

use ptx_emu::{
    BufferId, Config, Emulator, Finding, Launch, LaunchError, Limits, Module, Options, Report,
    TensorMap,
};

/// An argument of a kernel.
pub(crate) enum Arg {
    /// A buffer with these bytes and this element size.
    In(Vec<u8>, usize),
    /// A poisoned buffer of so many elements of so many bytes.
    Out(usize, usize),
    /// A value as it is.
    Value(Vec<u8>),
    /// A tensor map, by value, of a buffer with these bytes.
    Map(TensorMap, Vec<u8>),
}

/// Bytes of a slice of numbers.
pub(crate) trait Bytes {
    /// Little-endian bytes.
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! bytes {
    ($($t:ty),+) => {
        $(impl Bytes for [$t] {
            fn bytes(&self) -> Vec<u8> {
                self.iter().flat_map(|v| v.to_le_bytes()).collect()
            }
        }
        impl From<&[$t]> for Arg {
            fn from(values: &[$t]) -> Self {
                Self::In(values.bytes(), size_of::<$t>())
            }
        }
        impl From<&Vec<$t>> for Arg {
            fn from(values: &Vec<$t>) -> Self {
                Self::from(values.as_slice())
            }
        }
        impl From<$t> for Arg {
            fn from(value: $t) -> Self {
                Self::Value(value.to_le_bytes().to_vec())
            }
        })+
    };
}

bytes!(u8, i16, u16, i32, u32, i64, u64, f32, f64);

/// A kernel that ran, with its buffers.
pub(crate) struct Ran {
    emulator: Emulator,
    buffers: Vec<Option<BufferId>>,
    /// All that was found.
    pub(crate) findings: Vec<Finding>,
    /// How it ended.
    pub(crate) result: Result<Report, LaunchError>,
}

impl Ran {
    fn chunks<const N: usize>(&self, arg: usize) -> Vec<[u8; N]> {
        let buffer = self.buffers[arg].expect("the argument is a buffer");
        let (chunks, _) = self.emulator.bytes(buffer).as_chunks();
        chunks.to_vec()
    }

    /// Contents of argument `arg`.
    pub(crate) fn f32(&self, arg: usize) -> Vec<f32> {
        self.chunks(arg).into_iter().map(f32::from_le_bytes).collect()
    }

    /// Contents of argument `arg`.
    pub(crate) fn f64(&self, arg: usize) -> Vec<f64> {
        self.chunks(arg).into_iter().map(f64::from_le_bytes).collect()
    }

    /// Contents of argument `arg`.
    pub(crate) fn i32(&self, arg: usize) -> Vec<i32> {
        self.chunks(arg).into_iter().map(i32::from_le_bytes).collect()
    }

    /// Contents of argument `arg`.
    pub(crate) fn u32(&self, arg: usize) -> Vec<u32> {
        self.chunks(arg).into_iter().map(u32::from_le_bytes).collect()
    }

    /// Contents of argument `arg`.
    pub(crate) fn u16(&self, arg: usize) -> Vec<u16> {
        self.chunks(arg).into_iter().map(u16::from_le_bytes).collect()
    }

    /// Contents of argument `arg`.
    pub(crate) fn u8(&self, arg: usize) -> Vec<u8> {
        self.chunks(arg).into_iter().map(u8::from_le_bytes).collect()
    }

    /// Contents of argument `arg`.
    pub(crate) fn u64(&self, arg: usize) -> Vec<u64> {
        self.chunks(arg).into_iter().map(u64::from_le_bytes).collect()
    }

    /// Bytes of argument `arg` that the kernel wrote.
    pub(crate) fn n_written(&self, arg: usize) -> usize {
        let buffer = self.buffers[arg].expect("the argument is a buffer");
        self.emulator.written(buffer).iter().filter(|w| **w).count()
    }

    /// The fault the kernel must have ended with.
    pub(crate) fn fault(self) -> Finding {
        match self.result {
            Err(LaunchError::Fault(fault)) => *fault,
            other => panic!("expected a fault, got {other:?}"),
        }
    }

    /// Panics unless the kernel ended well.
    pub(crate) fn ok(self) -> Self {
        if let Err(error) = &self.result {
            panic!("{error}");
        }
        self
    }
}

/// A corpus file, e.g. `pass/relu`.
pub(crate) fn module(file: &str) -> Module {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/ptx/{file}.ptx"));
    let text = std::fs::read_to_string(&path).expect("the corpus file is there");
    Module::parse(&text).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// Runs `kernel` of the corpus file `file`.
pub(crate) fn run(
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    args: Vec<Arg>,
) -> Ran {
    run_with(file, kernel, grid, block, 0, Limits::default(), args)
}

/// [`run`] with dynamic shared memory and limits.
pub(crate) fn run_with(
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_smem: u32,
    limits: Limits,
    args: Vec<Arg>,
) -> Ran {
    let kernel = kernel.to_owned();
    let launch = Launch { kernel, grid, block, dynamic_smem, ..Launch::default() };
    run_launch(file, launch, limits, args)
}

/// [`run`] in clusters.
pub(crate) fn run_clusters(
    file: &str,
    kernel: &str,
    grid: [u32; 3],
    cluster: [u32; 3],
    block: [u32; 3],
    args: Vec<Arg>,
) -> Ran {
    let (kernel, cluster) = (kernel.to_owned(), Some(cluster));
    let launch = Launch { kernel, grid, block, cluster, ..Launch::default() };
    run_launch(file, launch, Limits::default(), args)
}

/// Runs `launch`, whose arguments are still to be made, on the corpus file `file`.
fn run_launch(file: &str, launch: Launch, limits: Limits, args: Vec<Arg>) -> Ran {
    run_module(&module(file), launch, limits, args)
}

/// Runs `launch`, whose arguments are still to be made.
pub(crate) fn run_module(module: &Module, launch: Launch, limits: Limits, args: Vec<Arg>) -> Ran {
    run_options(module, launch, &Options { limits, ..Options::default() }, args)
}

/// [`run_module`] with options.
pub(crate) fn run_options(
    module: &Module,
    launch: Launch,
    options: &Options,
    args: Vec<Arg>,
) -> Ran {
    let mut emulator = Emulator::new(Config::default());
    let mut buffers = Vec::new();
    let mut values = Vec::new();
    for (n, arg) in args.into_iter().enumerate() {
        let label = format!("arg{n}");
        let buffer = match arg {
            Arg::In(bytes, element) => {
                let buffer = emulator.alloc(&label, bytes.len(), element);
                emulator.write(buffer, &bytes);
                buffer
            }
            Arg::Out(n, element) => {
                let buffer = emulator.alloc(&label, n * element, element);
                emulator.poison(buffer, &[0xa5]);
                buffer
            }
            Arg::Map(map, bytes) => {
                let buffer = emulator.alloc(&label, bytes.len(), map.data_type.bytes() as usize);
                emulator.write(buffer, &bytes);
                let map = TensorMap { address: emulator.address(buffer), ..map };
                map.check().expect("the driver takes the map");
                buffers.push(Some(buffer));
                values.push(map.encode().to_vec());
                continue;
            }
            Arg::Value(bytes) => {
                buffers.push(None);
                values.push(bytes);
                continue;
            }
        };
        buffers.push(Some(buffer));
        values.push(emulator.address(buffer).to_le_bytes().to_vec());
    }
    let launch = Launch { args: values, ..launch };
    let report = emulator.launch(module, &launch, options);
    let findings = report.findings.clone();
    let result = report.into_result();
    Ran { emulator, buffers, findings, result }
}

/// Deterministic numbers in `[-1, 1)`.
pub(crate) fn random(n: usize) -> Vec<f32> {
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// Deterministic integers.
pub(crate) fn random_bits(n: usize) -> Vec<u32> {
    let mut state = 0x9e37_79b9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..n).map(|_| next()).collect()
}

/// Panics at the first element further off than `tolerance`, relative above 1.
pub(crate) fn close(got: &[f32], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (g, w)) in got.iter().zip(want).enumerate() {
        let error = (f64::from(*g) - w).abs() / w.abs().max(1.0);
        assert!(error <= tolerance || (w.is_nan() && g.is_nan()), "element {i}: {g} is not {w}");
    }
}
