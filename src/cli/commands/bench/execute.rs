//! Judges and times the cells of a bench, op by op.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use kgen_bench::{Cell, CellTiming, Outcome};
use kgen_record::{BaselineRequest, EvalRequest, Evaluation, Implementation};
use kgen_worker::Pool;

use super::{
    End,
    cells::{cell, of_baseline, of_candidate, refused, refused_as_a_whole},
    folder::Folder,
    output::span,
    plan::PlannedOp,
};
use crate::cli::{CommandError, Context, machine::Machine};

/// Cases of one evaluation: results are on disk after each.
const CHUNK: usize = 16;

/// Cases, by their places in the op, whose cells from one implementation on are missing.
type Work = (Vec<usize>, usize);

/// Runs a bench.
pub(super) struct Executor<'a> {
    context: &'a Context,
    machine: &'a Machine,
    deadline: Option<Instant>,
}

impl<'a> Executor<'a> {
    pub(super) fn new(
        context: &'a Context,
        machine: &'a Machine,
        max_time: Option<Duration>,
    ) -> Self {
        let deadline = max_time.map(|time| Instant::now() + time);
        Self { context, machine, deadline }
    }

    /// Fills the folder's missing cells.
    pub(super) async fn run(&self, folder: &mut Folder) -> Result<End, CommandError> {
        let ui = &self.context.ui;
        let n_cells = folder.plan().n_cells();
        let bar = ui.bar(n_cells, "cells");
        let began = Instant::now();
        let n_before = folder.n_done();
        for place in 0..folder.plan().ops.len() {
            let missing = folder.missing(&folder.plan().ops[place]);
            if missing.is_empty() {
                continue;
            }
            if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                bar.finish_and_clear();
                return Ok(End::TimeIsUp);
            }
            OpWork { place, pool: &self.machine.pool, bar: &bar }.run(folder, missing).await?;
            let n_done = folder.n_done();
            let left = left(began.elapsed(), n_done - n_before.min(n_done), n_cells - n_done);
            let op = &folder.plan().ops[place].op;
            ui.note(&format!("{op}: {n_done} of {n_cells} cells{left}"));
        }
        bar.finish_and_clear();
        Ok(End::Done)
    }
}

/// Words the time that is left, where some is.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn left(elapsed: Duration, n_done: u64, n_left: u64) -> String {
    if n_left == 0 || n_done == 0 {
        return String::new();
    }
    format!(", {} left", span(elapsed.as_secs_f64() * n_left as f64 / n_done as f64))
}

/// The missing cells of one op.
struct OpWork<'a> {
    place: usize,
    pool: &'a Pool,
    bar: &'a ProgressBar,
}

impl OpWork<'_> {
    async fn run(
        &self,
        folder: &mut Folder,
        missing: Vec<(usize, usize)>,
    ) -> Result<(), CommandError> {
        let mut queue: VecDeque<Work> = VecDeque::new();
        for chunk in missing.chunks(CHUNK) {
            for same in chunk.chunk_by(|a, b| a.1 == b.1) {
                queue.push_back((same.iter().map(|(case, _)| *case).collect(), same[0].1));
            }
        }
        while let Some(work) = queue.pop_front() {
            let (cells, more) = self.step(folder, work).await?;
            folder.add(cells)?;
            self.bar.set_position(folder.n_done());
            // The rest of a chunk is done before the next one.
            more.into_iter().rev().for_each(|work| queue.push_front(work));
        }
        Ok(())
    }

    /// Evaluates one implementation on some cases, timed against those behind it; returns finished cells
    /// and the work that is left.
    async fn step(
        &self,
        folder: &Folder,
        (cases, first): Work,
    ) -> Result<(Vec<Cell>, Vec<Work>), CommandError> {
        let plan = folder.plan();
        let op = &plan.ops[self.place];
        let Some(name) = plan.implementations.get(first) else {
            return Ok((Vec::new(), Vec::new()));
        };
        let all = |outcome: &Outcome| -> Vec<Cell> {
            cases.iter().map(|&case| cell(op, &op.cases[case], name, outcome.clone())).collect()
        };
        let next = || vec![(cases.clone(), first + 1)];
        let Some(candidate) = &op.kernels[first] else {
            let reason = format!("{name} has nothing for {}", op.op);
            return Ok((all(&Outcome::NotOffered { reason }), next()));
        };
        if candidate.needs_python() && !self.pool.has_gpu() {
            let reason = format!("{name} needs a GPU");
            return Ok((all(&Outcome::NotRun { reason }), next()));
        }
        let request = self.request(folder, op, candidate, first, &cases);
        let evaluation = Box::pin(self.pool.evaluate_across(request, &|_| {})).await?;
        Ok(sort(folder, op, &evaluation, &cases, first))
    }

    fn request(
        &self,
        folder: &Folder,
        op: &PlannedOp,
        candidate: &Implementation,
        first: usize,
        cases: &[usize],
    ) -> EvalRequest {
        let plan = folder.plan();
        let behind = plan.implementations.iter().zip(&op.kernels).skip(first + 1);
        let baselines = behind.filter_map(|(name, implementation)| {
            let implementation = implementation.clone()?;
            Some(BaselineRequest { name: name.clone(), implementation })
        });
        let mut request = EvalRequest {
            op: op.op.clone(),
            definition: op.definition.clone(),
            candidate: candidate.clone(),
            cases: cases.iter().map(|&case| op.cases[case].case.clone()).collect(),
            target: self.pool.target().clone(),
            ..plan.request.clone()
        };
        if let Some(timing) = &mut request.timing {
            timing.baselines = baselines.collect();
        }
        request
    }
}

/// Sorts the cases of an evaluation into finished cells and work that is left.
fn sort(
    folder: &Folder,
    op: &PlannedOp,
    evaluation: &Evaluation,
    cases: &[usize],
    first: usize,
) -> (Vec<Cell>, Vec<Work>) {
    let name = &folder.plan().implementations[first];
    let (mut cells, mut passed, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for &case in cases {
        match refused(evaluation, &op.cases[case].case.id) {
            None => passed.push(case),
            Some(outcome) => {
                cells.push(cell(op, &op.cases[case], name, outcome));
                others.push(case);
            }
        }
    }
    if !evaluation.verdict.is_pass() && others.is_empty() {
        // It failed as a whole, for example because what was timed was wrong.
        let outcome = refused_as_a_whole(evaluation);
        cells.extend(passed.iter().map(|&case| cell(op, &op.cases[case], name, outcome.clone())));
        return (cells, vec![(passed, first + 1)]);
    }
    if !evaluation.verdict.is_pass()
        && evaluation.timings.is_empty()
        && folder.plan().request.timing.is_some()
    {
        // One case that fails keeps all from being timed.
        let more = [(passed, first), (others, first + 1)];
        return (cells, more.into_iter().filter(|(cases, _)| !cases.is_empty()).collect());
    }
    for case in passed {
        let (of_case, is_whole) = timed(folder, op, evaluation, case, first);
        cells.extend(of_case);
        if !is_whole {
            others.push(case);
        }
    }
    others.sort_unstable();
    let more = if others.is_empty() { Vec::new() } else { vec![(others, first + 1)] };
    (cells, more)
}

/// Returns the cells of a case that passed, and whether those are all of the case.
fn timed(
    folder: &Folder,
    op: &PlannedOp,
    evaluation: &Evaluation,
    case: usize,
    first: usize,
) -> (Vec<Cell>, bool) {
    let planned = &op.cases[case];
    let names = &folder.plan().implementations;
    let passed = cell(op, planned, &names[first], Outcome::Passed);
    let Some(timing) = evaluation.timings.iter().find(|timing| timing.case == planned.case.id)
    else {
        let why =
            if folder.plan().request.on_gpu { "--no-timing" } else { "the emulator cannot time" };
        let note = Some(why.to_owned());
        return (vec![Cell { note, ..passed }], false);
    };
    let candidate = of_candidate(timing);
    let mut cells = vec![Cell { timing: Some(Box::new(candidate.clone())), ..passed }];
    for (name, kernel) in names.iter().zip(&op.kernels).skip(first + 1) {
        cells.push(match timing.baseline(name) {
            Some(baseline) => {
                beside(cell(op, planned, name, Outcome::Passed), baseline, &candidate)
            }
            None => {
                let reason = match kernel {
                    None => format!("{name} has nothing for {}", op.op),
                    Some(_) => format!("{name} was not reached"),
                };
                cell(op, planned, name, Outcome::NotOffered { reason })
            }
        });
    }
    (cells, true)
}

fn beside(cell: Cell, baseline: &kgen_record::BaselineTiming, candidate: &CellTiming) -> Cell {
    let (outcome, timing, note) = of_baseline(baseline, candidate);
    Cell { outcome, timing: timing.map(Box::new), note, ..cell }
}
