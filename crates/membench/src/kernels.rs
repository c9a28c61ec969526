//! The kernels and their launches.

use kgen_device::{BufferId, KernelArg, Launch};

use crate::{Case, Test};

/// The source of all kernels.
pub(crate) const SOURCE: &str = include_str!("kernels.cu");

/// Threads of a block.
const BLOCK: u32 = 256;

/// Blocks per multiprocessor: as many threads as it holds.
const BLOCKS_PER_SM: u64 = 8;

/// A GPU of so many multiprocessors, with the buffers of a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid<'a> {
    pub(crate) sm_count: u32,
    pub(crate) buffers: &'a [BufferId],
}

impl Grid<'_> {
    /// Returns a launch of a kernel over buffers of so many bytes, with a thread per item as far as they are
    /// on the GPU at once.
    pub(crate) fn launch(self, kernel: &str, bytes: u64, n_items: u64, k: u32) -> Launch {
        let most = BLOCKS_PER_SM * u64::from(self.sm_count);
        let blocks = n_items.div_ceil(u64::from(BLOCK)).clamp(1, most);
        let buffer = |at: usize| match self.buffers.get(at) {
            Some(&buffer) => KernelArg::Pointer { buffer, byte_offset: 0 },
            None => KernelArg::Null,
        };
        Launch {
            kernel: kernel.to_owned(),
            grid: [u32::try_from(blocks).unwrap_or(u32::MAX), 1, 1],
            block: [BLOCK, 1, 1],
            args: vec![
                buffer(0),
                buffer(1),
                buffer(2),
                KernelArg::Bytes(bytes.to_le_bytes().to_vec()),
                KernelArg::Bytes(k.to_le_bytes().to_vec()),
            ],
            ..Launch::default()
        }
    }

    /// Returns the launch of a case, except those of `latency`.
    pub(crate) fn case(self, case: Case) -> Launch {
        let Case { test, bytes, parameter } = case;
        let (kernel, item_bytes) = match (test, parameter) {
            (Test::Write, _) => ("write16", 16),
            (Test::Copy, _) => ("copy16", 16),
            (Test::Triad, _) => ("triad16", 16),
            (Test::Random, _) => ("random32", 16),
            (Test::Stride, _) => ("stride", 4 * u64::from(parameter.max(1))),
            (Test::Offset, _) => ("offset", 4),
            (Test::Vector, 4) => ("read4", 4),
            (Test::Vector, 8) => ("read8", 8),
            _ => ("read16", 16),
        };
        self.launch(kernel, bytes, bytes / item_bytes, parameter)
    }
}

/// The kernels on the emulator, which stops at every access outside of a buffer.
#[cfg(test)]
mod tests {
    use kgen_compile::{CompileJob, testing::compiler};
    use kgen_device::{Device as _, EmuDevice, Image, ModuleId};
    use kgen_record::Target;

    use super::*;

    /// Bytes of a buffer that takes each thread of one multiprocessor through both of its loops.
    const BYTES: u64 = 16 * (4 * 2048 + 1000);

    struct Emulated {
        device: EmuDevice,
        module: ModuleId,
        buffers: Vec<BufferId>,
    }

    impl Emulated {
        /// Buffers of so many bytes, with noise in all but the last.
        fn new(n_buffers: u32, bytes: u64) -> Self {
            let job = CompileJob {
                source: SOURCE,
                defines: &[],
                types: &[],
                kernels: &[],
                arch: "sm_90a",
            };
            let compiled = compiler().compile(&job).unwrap();
            let mut device = EmuDevice::new(&Target::h100_class());
            device.set_budget(1 << 40);
            let image = Image { ptx: &compiled.ptx, cubin: &compiled.cubin };
            let module = device.load(&image).unwrap();
            let size = usize::try_from(bytes).unwrap();
            let allocate = |_| device.alloc("memory", size, 4).unwrap();
            let buffers = (0..n_buffers).map(allocate).collect();
            let mut emulated = Self { device, module, buffers };
            for at in 0..n_buffers.max(2) - 1 {
                let buffers = [emulated.buffers[at as usize]];
                let grid = Grid { sm_count: 1, buffers: &buffers };
                emulated.run(&grid.launch("noise", bytes, bytes / 8, at));
            }
            emulated
        }

        fn run(&mut self, launch: &Launch) {
            self.device.launch(self.module, launch).unwrap();
            self.device.sync().unwrap();
        }

        fn launch(&mut self, make: impl Fn(Grid<'_>) -> Launch) {
            let launch = make(Grid { sm_count: 1, buffers: &self.buffers });
            self.run(&launch);
        }

        fn words(&mut self, at: usize) -> Vec<u64> {
            let bytes = self.device.read(self.buffers[at]).unwrap();
            bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
        }

        fn floats(&mut self, at: usize) -> Vec<f32> {
            let bytes = self.device.read(self.buffers[at]).unwrap();
            bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
        }
    }

    fn case(test: Test, parameter: u32) -> Case {
        Case { test, bytes: BYTES, parameter }
    }

    #[test]
    fn writes_copies_and_triads_reach_every_element() {
        let mut one = Emulated::new(1, BYTES);
        one.launch(|grid| grid.case(case(Test::Write, 0)));
        // The fourth word of each vector is a constant.
        assert!(one.words(0).chunks(2).all(|vector| vector[1] >> 32 == 7));
        let mut two = Emulated::new(2, BYTES);
        two.launch(|grid| grid.case(case(Test::Copy, 0)));
        assert_eq!(two.words(0), two.words(1));
        let mut three = Emulated::new(3, BYTES);
        three.launch(|grid| grid.case(case(Test::Triad, 0)));
        let [a, b, c] = [0, 1, 2].map(|at| three.floats(at));
        let expected = a.iter().zip(&b).map(|(a, b)| 3.0_f32.mul_add(*b, *a));
        let same = |(x, y): (f32, &f32)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
        assert!(expected.zip(&c).all(same));
    }

    #[test]
    fn reads_stay_inside_their_buffer() {
        let mut lab = Emulated::new(1, BYTES);
        for test in [Test::Read, Test::Random, Test::Stride, Test::Offset, Test::Vector] {
            let parameters = test.parameters();
            let ends = [parameters.first(), parameters.last()].map(|end| end.copied().unwrap_or(0));
            for parameter in ends {
                lab.launch(|grid| grid.case(case(test, parameter)));
            }
        }
        let mut smallest = Emulated::new(1, 128);
        for test in [Test::Read, Test::Random, Test::Stride, Test::Offset] {
            let parameter = test.parameters().last().copied().unwrap_or(0);
            smallest.launch(|grid| grid.case(Case { test, bytes: 128, parameter }));
        }
    }

    #[test]
    fn pointers_are_one_cycle_and_a_chase_goes_on_where_it_ended() {
        let (bytes, n_lines) = (128 * 64, 64);
        let mut lab = Emulated::new(2, bytes);
        lab.launch(|grid| grid.launch("link", bytes, n_lines, 0));
        let next: Vec<u64> = lab.words(0).into_iter().step_by(16).collect();
        let follow = |at: &u64| Some(next[usize::try_from(*at).unwrap()]);
        let path: Vec<u64> = std::iter::successors(Some(0), follow).take(65).collect();
        let mut seen = path[..64].to_vec();
        seen.sort_unstable();
        assert_eq!((seen, path[64]), ((0..64).collect(), 0));
        for n_loads in [10, 20] {
            let chase = |grid: Grid<'_>| grid.launch("chase", bytes, 1, n_loads);
            lab.launch(|grid| Launch { block: [1; 3], ..chase(grid) });
        }
        assert_eq!(lab.words(1)[0], path[30]);
    }
}
