//! Launches that may begin before the one before has ended: what comes before
//! `griddepcontrol.wait` must not touch its memory.

use ptx_emu::{BufferId, Emulator, Finding, FindingKind, Launch, Module, Options};

/// Elements of each buffer: two blocks of 64 threads.
const N: usize = 128;

/// The kernels `first` (`y[i] = x[i]`), `middle` (`z[i] = x[i]`), `sums` (adds to `y[0]`) and
/// `second`, whose body is given: `%rd1` to `%rd3` point at the thread's elements of `x`, `y`, `z`.
fn source(triggers: &str, middle: &str, second: &str) -> String {
    let head = "mov.u32 %r0, %tid.x;
        mov.u32 %r1, %ctaid.x;
        mad.lo.u32 %r2, %r1, 64, %r0;
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        ld.param.u64 %rd3, [z];
        cvta.to.global.u64 %rd1, %rd1;
        cvta.to.global.u64 %rd2, %rd2;
        cvta.to.global.u64 %rd3, %rd3;
        mul.wide.u32 %rd4, %r2, 4;
        mov.u64 %rd5, %rd2;
        add.u64 %rd1, %rd1, %rd4;
        add.u64 %rd2, %rd2, %rd4;
        add.u64 %rd3, %rd3, %rd4;";
    let kernel = |name: &str, body: &str| {
        format!(
            ".visible .entry {name}(.param .u64 x, .param .u64 y, .param .u64 z)
            {{
                .reg .pred %p<4>;
                .reg .b32 %r<16>;
                .reg .b64 %rd<16>;
                {head}
                {body}
                ret;
            }}\n"
        )
    };
    let mut text = ".version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"k.cu\"\n\
                    .shared .align 128 .b8 box[256];\n.shared .align 8 .b64 bar;\n"
        .to_owned();
    let first = format!(
        "{triggers}
        ld.global.u32 %r3, [%rd1];
        .loc 1 7 1
        st.global.u32 [%rd2], %r3;"
    );
    text += &kernel("first", &first);
    text += &kernel("middle", middle);
    text += &kernel("sums", "red.global.add.u32 [%rd5], 1;");
    text += &kernel("second", second);
    text
}

struct Bench {
    emulator: Emulator,
    module: Module,
    buffers: [BufferId; 3],
    threads: usize,
}

impl Bench {
    fn new(text: &str) -> Self {
        let mut emulator = Emulator::default();
        let buffers = ["x", "y", "z"].map(|name| emulator.alloc(name, 4 * N, 4));
        let bytes: Vec<u8> = (0..N as u32).flat_map(u32::to_le_bytes).collect();
        buffers.iter().for_each(|buffer| emulator.write(*buffer, &bytes));
        Self {
            emulator,
            module: Module::parse(text).expect("the text is PTX"),
            buffers,
            threads: 1,
        }
    }

    fn launch(&mut self, kernel: &str, dependent: bool) -> Vec<Finding> {
        let args = self.buffers.map(|buffer| self.emulator.address(buffer).to_le_bytes().to_vec());
        let (kernel, args) = (kernel.to_owned(), args.to_vec());
        let launch =
            Launch { kernel, grid: [2, 1, 1], block: [64, 1, 1], args, ..Launch::default() };
        let options = Options { dependent, threads: self.threads, ..Options::default() };
        let report = self.emulator.launch(&self.module, &launch, &options);
        assert_eq!(report.end, Ok(()), "{:?}", report.findings);
        report.findings
    }
}

/// The findings of `second`, dependent, behind `first`.
fn pair(second: &str) -> Vec<Finding> {
    let mut bench = Bench::new(&source("", "", second));
    assert_eq!(bench.launch("first", false), []);
    bench.launch("second", true)
}

const WAIT: &str = "griddepcontrol.wait;";
const READ_Y: &str = ".loc 1 20 1\nld.global.u32 %r4, [%rd2];";
const WRITE_Z: &str = "st.global.u32 [%rd3], %r4;";

#[test]
fn a_read_before_the_wait_is_a_race_and_one_behind_it_is_none() {
    assert_eq!(pair(&format!("{WAIT}{READ_Y}{WRITE_Z}")), []);
    for triggers in ["", "griddepcontrol.launch_dependents;"] {
        for late in ["", WAIT] {
            let text = source(triggers, "", &format!("{READ_Y}{late}{WRITE_Z}"));
            let mut bench = Bench::new(&text);
            bench.launch("first", false);
            let findings = bench.launch("second", true);
            let [finding] = &findings[..] else { panic!("{findings:?}") };
            assert_eq!(finding.kind, FindingKind::GlobalRace);
            let text = "race on global `y`[0]: this read is not behind `griddepcontrol.wait`, and \
                        nothing orders it after the write at line 7 by `first`, the launch before, \
                        line 20, block (0,0,0), thread (0,0,0)";
            assert!(finding.message.starts_with(text), "{}", finding.message);
            assert_eq!((finding.n_threads, finding.elements), (128, Some((0, 127))));
            assert_eq!(finding.other.as_ref().and_then(|other| other.line), Some(7));
            assert!(finding.to_string().lines().count() <= 8, "{finding}");
        }
    }
}

#[test]
fn memory_that_the_launch_before_leaves_alone_needs_no_wait() {
    assert_eq!(pair(&format!("ld.global.u32 %r4, [%rd1];{WRITE_Z}")), []);
    // It reads `x`, so that nobody may write it yet.
    let findings = pair("mov.u32 %r4, 1;\nst.global.u32 [%rd1], %r4;");
    assert!(findings[0].message.contains("this write is not behind"), "{:?}", findings[0]);
    assert!(findings[0].message.contains("after the read"), "{:?}", findings[0]);
    let findings = pair("mov.u32 %r4, 1;\nst.global.u32 [%rd2], %r4;");
    assert!(findings[0].message.contains("after the write"), "{:?}", findings[0]);
}

#[test]
fn only_a_launch_that_follows_directly_is_dependent() {
    let text = source("", "", &format!("{READ_Y}{WRITE_Z}"));
    // The first one of all.
    assert_eq!(Bench::new(&text).launch("second", true), []);
    let mut bench = Bench::new(&text);
    bench.launch("first", false);
    assert_eq!(bench.launch("second", false), []);
    let changes: [fn(&mut Bench); 3] = [
        |b| b.emulator.write(b.buffers[2], &[0; 16]),
        |b| b.emulator.write_as_kernel(b.buffers[2], 0, &[0; 16]),
        |b| b.emulator.poison(b.buffers[2], &[0; 4]),
    ];
    for between in changes {
        let mut bench = Bench::new(&text);
        bench.launch("first", false);
        between(&mut bench);
        assert_eq!(bench.launch("second", true), []);
    }
}

#[test]
fn a_barrier_passes_the_wait_of_one_thread_on() {
    let one = |barrier: &str| {
        format!(
            "setp.ne.u32 %p1, %r0, 0;
            @%p1 bra $after;
            {WAIT}
            $after:
            {barrier}
            {READ_Y}{WRITE_Z}"
        )
    };
    assert_eq!(pair(&one("bar.sync 0;")), []);
    let findings = pair(&one(""));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].thread, findings[0].n_threads), ([1, 0, 0], 126));
    // The lanes of a warp meet, the other warp does not take part.
    let findings = pair(&one("bar.warp.sync 0xffffffff;"));
    assert_eq!((findings[0].thread, findings[0].n_threads), ([32, 0, 0], 64));
}

#[test]
fn a_flag_passes_the_wait_of_a_block_on() {
    // The flag is the last element of `z`, which held 127.
    let flag = |wait: &str| {
        format!(
            "ld.param.u64 %rd6, [z];
            cvta.to.global.u64 %rd6, %rd6;
            setp.ne.u32 %p1, %r1, 0;
            @%p1 bra $spin;
            {wait}
            bar.sync 0;
            setp.ne.u32 %p2, %r0, 0;
            @%p2 bra $end;
            fence.acq_rel.gpu;
            mov.u32 %r5, 1;
            st.volatile.global.u32 [%rd6+508], %r5;
            bra $end;
            $spin:
            ld.volatile.global.u32 %r5, [%rd6+508];
            setp.ne.u32 %p2, %r5, 1;
            @%p2 bra $spin;
            fence.acq_rel.gpu;
            {READ_Y}
            $end:"
        )
    };
    assert_eq!(pair(&flag(WAIT)), []);
    let findings = pair(&flag(""));
    assert_eq!((findings[0].line, findings[0].block), (Some(20), [1, 0, 0]), "{findings:?}");
}

#[test]
fn atomic_sums_of_both_launches_commute() {
    let launch = |second: &str| {
        let mut bench = Bench::new(&source("", "", second));
        bench.launch("sums", false);
        bench.launch("second", true)
    };
    assert_eq!(launch("red.global.add.u32 [%rd5], 1;"), []);
    assert_eq!(launch("ld.global.u32 %r4, [%rd5];").len(), 1);
}

#[test]
fn copies_of_tma_wait_as_well() {
    let load = |wait: &str| {
        format!(
            "mov.u32 %r6, box;
            mov.u32 %r7, bar;
            setp.ne.u32 %p1, %r0, 0;
            @%p1 bra $end;
            mbarrier.init.shared::cta.b64 [%r7], 1;
            fence.mbarrier_init.release.cluster;
            {wait}
            mbarrier.arrive.expect_tx.shared::cta.b64 %rd6, [%r7], 256;
            .loc 1 30 1
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd2], 256, [%r7];
            $wait: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r7], 0;
            @!%p2 bra $wait;
            $end:"
        )
    };
    assert_eq!(pair(&load(WAIT)), []);
    let findings = pair(&load(""));
    assert_eq!((findings.len(), findings[0].line), (1, Some(30)), "{findings:?}");
}

#[test]
fn a_launch_that_is_overlapped_early_leaves_the_one_before_it_running() {
    let second = format!("{READ_Y}{WRITE_Z}");
    let middle = |body: &str| {
        let mut bench = Bench::new(&source("", body, &second));
        bench.launch("first", false);
        assert_eq!(bench.launch("middle", true), []);
        bench.launch("second", true).len()
    };
    // Once the one between has waited, `first` has ended.
    assert_eq!(middle("griddepcontrol.wait;\ngriddepcontrol.launch_dependents;"), 0);
    assert_eq!(middle("griddepcontrol.wait;"), 0);
    assert_eq!(middle("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;"), 1);
    assert_eq!(middle(""), 1);
}

#[test]
fn launches_on_several_threads_find_the_same() {
    let work = "mov.u32 %r9, 0;
        $more: add.u32 %r9, %r9, 1;
        setp.lt.u32 %p3, %r9, 60000;
        @%p3 bra $more;";
    for (wait, n) in [(WAIT, 0), ("", 1)] {
        let text = source(work, "", &format!("{work}{wait}{READ_Y}{WRITE_Z}"));
        let mut bench = Bench { threads: 2, ..Bench::new(&text) };
        bench.launch("first", false);
        assert_eq!(bench.launch("second", true).len(), n);
    }
}
