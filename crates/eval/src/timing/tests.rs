//! The course of a timing on a device that is scripted: the order of samples, the poisoned buffers,
//! and times that cannot be.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    rc::Rc,
};

use kgen_device::{BufferId, GraphId, Image, Launch, ModuleId, TimedOp, TimedWork};
use kgen_measure::{Arm, Bench as _, Health};
use kgen_record::{Level, Target};

use super::{
    bench::{BenchError, Calls, Graphs},
    *,
};
use crate::{Program, Variant, external::BoundCall};

/// A device whose calls take as long as the byte that they fill says, in microseconds.
#[derive(Default)]
struct Scripted {
    /// Which calls were sampled, chunk by chunk, with their flush.
    chunks: Vec<(Vec<u8>, Flush)>,
    graphs: BTreeMap<u32, Vec<u8>>,
    has_graphs: bool,
    /// Who used the GPU: `h` for here, `e` for elsewhere, one letter per sample.
    turns: Rc<RefCell<String>>,
    /// Processes of others, each time it is asked; then it does not report them.
    others: VecDeque<u32>,
    n_loaded: u32,
}

/// A call that takes so many microseconds.
fn call(us: u8) -> TimedCall {
    let fill = TimedOp::Fill { buffer: BufferId(0), byte: us };
    TimedCall { poison: vec![(BufferId(0), 0xff)], work: TimedWork::Ops(vec![fill]) }
}

fn length(work: &TimedWork) -> u8 {
    match work {
        TimedWork::Ops(ops) => match ops.as_slice() {
            [TimedOp::Fill { byte, .. }] => *byte,
            _ => 3,
        },
        TimedWork::Graph(_) => 0,
    }
}

impl Device for Scripted {
    fn target(&self) -> &Target {
        unimplemented!("timing a call asks for no facts")
    }
    fn level(&self) -> Level {
        Level::Cuda
    }
    fn set_budget(&mut self, _: u64) {}
    fn load(&mut self, image: &Image<'_>) -> Result<ModuleId, LaunchError> {
        if image.cubin.is_empty() {
            return Err(LaunchError::verdict(
                Verdict::CompileError,
                Finding::new("no code for this GPU"),
            ));
        }
        self.n_loaded += 1;
        Ok(ModuleId(7))
    }
    fn unload(&mut self, _: ModuleId) {
        self.n_loaded -= 1;
    }
    fn alloc(&mut self, _: &str, _: usize, _: usize) -> Result<BufferId, LaunchError> {
        unimplemented!()
    }
    fn free(&mut self, _: BufferId) {}
    fn size(&self, _: BufferId) -> usize {
        0
    }
    fn write(&mut self, _: BufferId, _: &[u8]) -> Result<(), LaunchError> {
        Ok(())
    }
    fn read(&mut self, _: BufferId) -> Result<Vec<u8>, LaunchError> {
        Ok(Vec::new())
    }
    fn read_part(&mut self, _: BufferId, _: usize, _: usize) -> Result<Vec<u8>, LaunchError> {
        Ok(Vec::new())
    }
    fn fill(&mut self, _: BufferId, _: &[u8]) -> Result<(), LaunchError> {
        Ok(())
    }
    fn clear(&mut self, _: BufferId, _: u8) -> Result<(), LaunchError> {
        Ok(())
    }
    fn check_guards(&mut self, _: BufferId) -> Result<(), LaunchError> {
        Ok(())
    }
    fn unwritten(&mut self, _: BufferId) -> Option<Vec<bool>> {
        None
    }
    fn launch(&mut self, _: ModuleId, _: &Launch) -> Result<(), LaunchError> {
        unimplemented!()
    }
    fn sync(&mut self) -> Result<(), LaunchError> {
        Ok(())
    }
    fn time(
        &mut self,
        calls: &[TimedCall],
        order: &[usize],
        flush: Flush,
    ) -> Result<Option<Vec<f64>>, LaunchError> {
        let is_poisoned = |call: &TimedCall| !call.poison.is_empty();
        assert!(calls.iter().all(|call| is_poisoned(call) || length(&call.work) != 10));
        self.turns.borrow_mut().push_str(&"h".repeat(order.len()));
        let lengths: Vec<u8> = order.iter().map(|&at| length(&calls[at].work)).collect();
        let us = |&at: &usize| match &calls[at].work {
            TimedWork::Ops(_) => f64::from(length(&calls[at].work)),
            // A graph costs 7 µs of its own.
            TimedWork::Graph(graph) => {
                7.0 + self.graphs[&graph.0].iter().map(|us| f64::from(*us)).sum::<f64>()
            }
        };
        let samples = order.iter().map(us).collect();
        self.chunks.push((lengths, flush));
        Ok(Some(samples))
    }
    fn record_graph(
        &mut self,
        calls: &[TimedCall],
        n: usize,
    ) -> Result<Option<GraphId>, LaunchError> {
        if !self.has_graphs {
            return Ok(None);
        }
        let id = u32::try_from(self.graphs.len()).unwrap();
        let recorded = (0..n).map(|at| length(&calls[at % calls.len()].work)).collect();
        self.graphs.insert(id, recorded);
        Ok(Some(GraphId(id)))
    }
    fn health(&mut self) -> Health {
        Health { sm_mhz: Some(1500.0), ..Health::default() }
    }
    fn n_foreign(&mut self) -> Option<u32> {
        self.others.pop_front()
    }
}

const BABA: [Arm; 4] = [Arm::Baseline, Arm::Candidate, Arm::Candidate, Arm::Baseline];

#[test]
fn a_chunk_is_one_request_and_takes_argument_sets_in_turn() {
    let mut device = Scripted::default();
    let candidate = Samples::Here(vec![call(10), call(11)]);
    let baseline = Samples::Here(vec![call(20), call(21)]);
    let mut calls = Calls::new(&mut device, candidate, baseline, Flush::Memset);
    let order = [BABA, BABA].concat();
    let chunk = calls.chunk(&order).ok().unwrap();
    assert_eq!(chunk.samples_us, [20.0, 10.0, 11.0, 21.0, 20.0, 10.0, 11.0, 21.0]);
    assert_eq!(chunk.health.sm_mhz, Some(1500.0));
    assert_eq!(device.chunks.len(), 1);
    assert_eq!(device.chunks[0].1, Flush::Memset);
}

/// A call in another process that takes 30 µs, until its process is gone.
struct Elsewhere {
    turns: Rc<RefCell<String>>,
    is_gone: bool,
}

impl BoundCall for Elsewhere {
    fn run(&self, _: &mut dyn Device) -> Result<(), LaunchError> {
        Ok(())
    }

    fn sample(&self, _: &mut dyn Device, n: usize, flush: Flush) -> Result<Vec<f64>, LaunchError> {
        assert_eq!(flush, Flush::Memset);
        if self.is_gone {
            let finding = Finding::new("the process is gone");
            return Err(LaunchError::Kernel {
                verdict: Verdict::Crashed,
                finding: Box::new(finding),
                device_lost: true,
            });
        }
        self.turns.borrow_mut().push_str(&"e".repeat(n));
        Ok(vec![30.0; n])
    }

    fn repeat(&self, _: &mut dyn Device, _: f64) -> Result<u64, LaunchError> {
        self.turns.borrow_mut().push('r');
        Ok(1_000)
    }
}

#[test]
fn another_process_takes_its_turns_and_never_both_at_once() {
    let mut device = Scripted::default();
    let turns = Rc::clone(&device.turns);
    let mut elsewhere = Elsewhere { turns: Rc::clone(&turns), is_gone: false };
    let order: Vec<Arm> = BABA.iter().flat_map(|arm| [*arm; 4]).collect();
    {
        let candidate = Samples::Here(vec![call(10)]);
        let baseline = Samples::Elsewhere(&elsewhere);
        assert_eq!(baseline.width(), 4);
        let mut calls = Calls::new(&mut device, candidate, baseline, Flush::Memset);
        let chunk = calls.chunk(&order).ok().unwrap();
        let expected: Vec<f64> =
            order.iter().map(|arm| if *arm == Arm::Baseline { 30.0 } else { 10.0 }).collect();
        assert_eq!(chunk.samples_us, expected);
    }
    // After it got the GPU back, kgen throws one sample away.
    assert_eq!(*turns.borrow(), "eeee".to_owned() + &"h".repeat(9) + "eeee");

    elsewhere.is_gone = true;
    let candidate = Samples::Here(vec![call(10)]);
    let mut calls =
        Calls::new(&mut device, candidate, Samples::Elsewhere(&elsewhere), Flush::Memset);
    match calls.chunk(&order) {
        Err(BenchError::Baseline(refused)) => assert_eq!(refused.reason, "the process is gone"),
        Ok(_) | Err(BenchError::Eval(_)) => {
            panic!("the baseline is gone, the candidate is not")
        }
    }
    // The same end of the candidate is the candidate's.
    let none = Samples::Here(Vec::new());
    let mut calls = Calls::new(&mut device, Samples::Elsewhere(&elsewhere), none, Flush::Memset);
    assert!(matches!(calls.chunk(&[Arm::Candidate]), Err(BenchError::Eval(_))));
}

#[test]
fn graphs_of_two_lengths_give_the_time_of_a_call() {
    let mut device = Scripted { has_graphs: true, ..Scripted::default() };
    let (candidate, baseline) = ([call(2), call(4)], [call(6)]);
    let arms = [candidate.as_slice(), baseline.as_slice()];
    let mut graphs = Graphs::record(&mut device, &arms, 10).unwrap().unwrap();
    let chunk = graphs.chunk(&BABA).ok().unwrap();
    // The cost of a graph itself is in both lengths.
    assert_eq!(chunk.samples_us, [6.0, 3.0, 3.0, 6.0]);
    graphs.close();
    drop(graphs);
    assert_eq!(device.chunks[0].1, Flush::None);
    assert_eq!(device.graphs.values().map(Vec::len).collect::<Vec<_>>(), [10, 20, 10, 20]);
    assert!((compared::empty_in_graphs(&mut device, 20).unwrap().unwrap() - 3.0).abs() < 1e-9);

    let mut without = Scripted::default();
    assert!(compared::empty_in_graphs(&mut without, 20).unwrap().is_none());
}

#[test]
fn a_quick_look_takes_the_median_of_all_sets() {
    let mut device = Scripted::default();
    let us = quick(&mut device, &[call(10), call(10), call(90)], Flush::None).unwrap();
    assert_eq!(us, Some(10.0));
    assert_eq!(quick(&mut device, &[TimedCall::EMPTY], Flush::None).unwrap(), Some(3.0));
}

#[test]
fn a_library_that_is_missing_is_a_note_beside_the_baseline() {
    let missing =
        LaunchError::verdict(Verdict::Unsupported, Finding::new("cuBLASLt was not found"));
    let BenchError::Baseline(refused) = compared::baseline_note(false, missing) else {
        panic!("it ends the evaluation")
    };
    assert_eq!(refused.reason, "cuBLASLt was not found");
    assert_eq!(refused.verdict, Some(Verdict::Unsupported));
}

#[test]
fn a_baseline_that_the_device_refuses_is_a_note_and_a_loaded_one_is_unloaded() {
    let program = |cubin: &[u8]| {
        let variant = Variant {
            types: Vec::new(),
            defines: Vec::new(),
            cubin: cubin.to_vec(),
            ptx: String::new(),
        };
        Program { variants: vec![variant], ..Program::without_code(1) }
    };
    let mut device = Scripted::default();
    let refused = program(b"");
    let mut own = Loader::new(&refused);
    let Err(BenchError::Baseline(note)) = compared::modules(&mut own, &mut device, 0) else {
        panic!("it is a note")
    };
    assert_eq!(note.reason, "no code for this GPU");
    let fine = program(b"code");
    let mut own = Loader::new(&fine);
    let Ok(_) = compared::modules(&mut own, &mut device, 0) else { panic!("it is loaded") };
    assert_eq!(device.n_loaded, 1);
    own.unload(&mut device);
    assert_eq!(device.n_loaded, 0);
}

#[test]
fn others_are_seen_before_and_after_the_samples() {
    let shared = |others: &[u32]| {
        let mut device =
            Scripted { others: others.iter().copied().collect(), ..Scripted::default() };
        let take = |device: &mut dyn Device| quick(device, &[call(10)], Flush::None).unwrap();
        let (us, shared) = watched(&mut device, take);
        assert_eq!(us, Some(10.0));
        shared
    };
    assert!(!shared(&[0, 0]));
    assert!(shared(&[2, 0]));
    assert!(shared(&[0, 1]));
    // A device that does not report them accuses nobody.
    assert!(!shared(&[]));
}

#[test]
fn times_below_the_data_sheet_are_reported_and_others_are_not() {
    let roofline = |impossible_us| Roofline {
        floor_us: 20.0,
        limit: kgen_measure::roofline::Limit::Memory,
        impossible_us,
    };
    let timing = Timing::of(vec![12.0; 5]).unwrap();
    let finding = impossible(&timing, &roofline(Some(14.5))).unwrap();
    assert!(finding.message.contains("12.00 µs") && finding.message.contains("14.50 µs"));
    assert!(impossible(&timing, &roofline(Some(11.9))).is_none());
    assert!(impossible(&timing, &roofline(None)).is_none());
}

#[test]
fn do_bench_takes_as_many_samples_as_fit_into_its_time() {
    let mut device = Scripted::default();
    let summary = do_bench::measure(&mut device, &[call(12)]).unwrap().unwrap();
    assert!((summary.mean_us - 12.0).abs() < 1e-9 && (summary.median_us - 12.0).abs() < 1e-9);
    let n_flushed = |flush| {
        let chunks = device.chunks.iter().filter(|(_, of)| *of == flush);
        chunks.map(|(calls, _)| calls.len()).sum::<usize>()
    };
    // Five for the estimate.
    assert_eq!(n_flushed(Flush::Memset), 5 + summary.n as usize);
    assert!(n_flushed(Flush::None) > 0 && n_flushed(Flush::Read) == 0);
}
