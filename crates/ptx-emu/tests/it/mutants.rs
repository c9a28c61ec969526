//! Mutants of the kernels for `sm_90a`, whose PTX is kept: each is found, and by the right line.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use emu_corpus::{Mutant, mutants};
use ptx_emu::{FindingKind, LaunchError, Limits, Module, Report};

use super::corpus::launch;

/// The emulator's words about a mutant.
#[derive(Debug, Default)]
struct Said {
    /// Kind and lines of each finding that makes the kernel wrong, or of what stopped it.
    found: Vec<(String, Vec<u32>)>,
    wrong_output: bool,
}

impl Said {
    fn add(&mut self, report: &Report) {
        for finding in report.errors() {
            let other = finding.other.as_ref().and_then(|other| other.line);
            let lines = finding.line.into_iter().chain(other).collect();
            self.found.push((finding.kind.name().to_owned(), lines));
        }
        let stopped = match &report.end {
            Ok(()) | Err(LaunchError::Fault(_)) => return,
            Err(LaunchError::Deadlock { line, .. }) => ("deadlock", *line),
            Err(LaunchError::Budget { line, .. }) => ("hang", *line),
            Err(other) => panic!("a mutant is refused: {other}"),
        };
        self.found.push((stopped.0.to_owned(), stopped.1.into_iter().collect()));
    }

    fn is_detected(&self) -> bool {
        self.wrong_output || !self.found.is_empty()
    }

    /// Whether a finding names a right line; `None` where only the output says that it is wrong.
    fn line_is_right(&self, mutant: &Mutant) -> Option<bool> {
        let right =
            |(_, lines): &(String, Vec<u32>)| lines.iter().any(|l| mutant.report.contains(l));
        (!self.found.is_empty()).then(|| self.found.iter().any(right))
    }
}

fn run(mutant: &Mutant, text: &str) -> Said {
    let module = Module::parse(text).unwrap_or_else(|e| panic!("{}: {e}", mutant.id));
    let limits = Limits { lane_instructions: 20_000_000, ..Limits::default() };
    let mut said = Said::default();
    for seed in [1, 2] {
        let case = mutant.kernel.case(seed);
        let launched = AssertUnwindSafe(|| launch(&mutant.kernel, &module, &case, limits));
        let (report, outputs) =
            catch_unwind(launched).unwrap_or_else(|_| panic!("{} panics", mutant.id));
        said.add(&report);
        said.wrong_output |= report.is_clean() && mutant.kernel.check(&case, &outputs).is_err();
        if said.is_detected() {
            break;
        }
    }
    said
}

#[test]
fn mutants_with_ptx_are_found() {
    let mutants: Vec<_> =
        mutants().into_iter().filter_map(|m| m.ptx().map(|text| (m, text))).collect();
    assert!(mutants.len() > 200, "{}", mutants.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut list = Vec::new();
        while let Some((mutant, text)) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            list.push((mutant, run(mutant, text)));
        }
        list
    };
    let said: Vec<(&Mutant, Said)> = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(2, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("no mutant panics")).collect()
    });
    let missed: Vec<_> =
        said.iter().filter(|(_, s)| !s.is_detected()).map(|(m, _)| &m.id).collect();
    let lines: Vec<_> =
        said.iter().filter_map(|(m, s)| Some((s.line_is_right(m)?, &m.id, &m.report, s))).collect();
    let wrong: Vec<_> = lines.iter().filter(|(right, ..)| !right).collect();
    let (n, n_lines) = (said.len(), lines.len());
    let score = format!(
        "{} of {n} detected, {} of {n_lines} lines right\nmissed: {missed:#?}\nother lines: {wrong:#?}",
        n - missed.len(),
        n_lines - wrong.len()
    );
    assert!(20 * missed.len() <= n, "{score}");
    assert!(10 * wrong.len() <= n_lines, "{score}");
}

#[test]
fn blocks_of_a_cluster_meet_before_and_after_they_use_each_others_memory() {
    let mutants = mutants();
    for (id, text, line) in [
        ("dsmem_sum.dropped_barrier.1", "shared memory of block 0 of the cluster is used", 16),
        ("dsmem_scan.dropped_barrier.2", "a block ends while another one of its cluster", 41),
    ] {
        let mutant = mutants.iter().find(|m| m.id == id).expect("there is such a mutant");
        let module = Module::parse(&mutant.ptx().expect("it has PTX")).expect("it is valid");
        let (report, _) =
            launch(&mutant.kernel, &module, &mutant.kernel.case(1), Limits::default());
        let [finding] = &report.findings[..] else { panic!("{id}: {:?}", report.findings) };
        assert_eq!(finding.kind, FindingKind::Cluster);
        assert!(finding.message.starts_with(text), "{}", finding.message);
        assert_eq!(finding.line, Some(line), "{id}");
    }
}
