//! Judges and times the cells of a bench, op by op.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use kgen_bench::{Cell, CellTiming, Outcome};
use kgen_record::{BaselineRequest, EvalRequest, Evaluation, Implementation};
use kgen_worker::Pool;

use super::{
    End,
    cells::{cell, of_baseline, of_candidate, refused, refused_as_a_whole},
    folder::Folder,
    plan::{BenchPlan, PlannedOp},
    progress::Progress,
};
use crate::cli::{CommandError, Context, machine::Machine};

/// Cases of one evaluation: results are on disk after each.
const CHUNK: usize = 16;

/// Cases of an op, by their places in it, whose cells from one implementation on are missing.
struct Work {
    op: usize,
    cases: Vec<usize>,
    first: usize,
}

/// Runs a bench.
pub(super) struct Executor<'a> {
    context: &'a Context,
    pool: &'a Pool,
    deadline: Option<Instant>,
}

impl<'a> Executor<'a> {
    pub(super) fn new(
        context: &'a Context,
        machine: &'a Machine,
        max_time: Option<Duration>,
    ) -> Self {
        let deadline = max_time.map(|time| Instant::now() + time);
        Self { context, pool: &machine.pool, deadline }
    }

    /// Fills the folder's missing cells.
    pub(super) async fn run(&self, folder: &mut Folder) -> Result<End, CommandError> {
        let plan = folder.plan().clone();
        let mut progress = Progress::new(self.context, folder);
        let mut queue = queue(folder);
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < self.n_at_once()
                && !self.is_late()
                && let Some(work) = queue.pop_front()
            {
                running.push(Step { plan: &plan, pool: self.pool }.run(work));
            }
            let Some(done) = running.next().await else { break };
            let (cells, more) = done?;
            progress.add(&cells, folder.n_done());
            folder.add(cells)?;
            // The rest of a chunk is done before the next one.
            more.into_iter().rev().for_each(|work| queue.push_front(work));
        }
        progress.finish();
        Ok(if queue.is_empty() { End::Done } else { End::TimeIsUp })
    }

    /// Returns how many evaluations run at once. Where a GPU takes times, the next one's kernels are compiled
    /// meanwhile, and no more, since many compilers would slow down the calls that are timed.
    fn n_at_once(&self) -> usize {
        match self.pool.gpus().len() {
            0 => self.pool.n_ahead(),
            n_gpus => n_gpus + 1,
        }
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// Returns the missing cells of a bench, op by op.
fn queue(folder: &Folder) -> VecDeque<Work> {
    let mut queue = VecDeque::new();
    for (op, planned) in folder.plan().ops.iter().enumerate() {
        for chunk in folder.missing(planned).chunks(CHUNK) {
            for same in chunk.chunk_by(|a, b| a.1 == b.1) {
                let cases = same.iter().map(|(case, _)| *case).collect();
                queue.push_back(Work { op, cases, first: same[0].1 });
            }
        }
    }
    queue
}

/// One evaluation of a bench.
struct Step<'a> {
    plan: &'a BenchPlan,
    pool: &'a Pool,
}

impl Step<'_> {
    /// Evaluates one implementation on some cases, timed against those behind it; returns finished cells
    /// and the work that is left.
    async fn run(self, work: Work) -> Result<(Vec<Cell>, Vec<Work>), CommandError> {
        let Work { op: place, ref cases, first } = work;
        let plan = self.plan;
        let op = &plan.ops[place];
        let Some(name) = plan.implementations.get(first) else {
            return Ok((Vec::new(), Vec::new()));
        };
        let all = |outcome: &Outcome| -> Vec<Cell> {
            cases.iter().map(|&case| cell(op, &op.cases[case], name, outcome.clone())).collect()
        };
        let next = || vec![Work { op: place, cases: cases.clone(), first: first + 1 }];
        let Some(candidate) = &op.kernels[first] else {
            let reason = format!("{name} has nothing for {}", op.op);
            return Ok((all(&Outcome::NotOffered { reason }), next()));
        };
        if candidate.runs_beside() && !self.pool.has_gpu() {
            let reason = format!("{name} needs a GPU");
            return Ok((all(&Outcome::NotRun { reason }), next()));
        }
        let request = self.request(op, candidate, first, cases);
        let evaluation = Box::pin(self.pool.evaluate_across(request, &|_| {})).await?;
        Ok(sort(plan, &evaluation, &work))
    }

    fn request(
        &self,
        op: &PlannedOp,
        candidate: &Implementation,
        first: usize,
        cases: &[usize],
    ) -> EvalRequest {
        let plan = self.plan;
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
fn sort(plan: &BenchPlan, evaluation: &Evaluation, work: &Work) -> (Vec<Cell>, Vec<Work>) {
    let op = &plan.ops[work.op];
    let first = work.first;
    let left = |cases: Vec<usize>, first: usize| Work { op: work.op, cases, first };
    let name = &plan.implementations[first];
    let (mut cells, mut passed, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for &case in &work.cases {
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
        return (cells, vec![left(passed, first + 1)]);
    }
    if !evaluation.verdict.is_pass()
        && evaluation.timings.is_empty()
        && plan.request.timing.is_some()
    {
        // One case that fails keeps all from being timed.
        let more = [left(passed, first), left(others, first + 1)];
        return (cells, more.into_iter().filter(|work| !work.cases.is_empty()).collect());
    }
    for case in passed {
        let (of_case, is_whole) = timed(plan, op, evaluation, case, first);
        cells.extend(of_case);
        if !is_whole {
            others.push(case);
        }
    }
    others.sort_unstable();
    let more = if others.is_empty() { Vec::new() } else { vec![left(others, first + 1)] };
    (cells, more)
}

/// Returns the cells of a case that passed, and whether those are all of the case.
fn timed(
    plan: &BenchPlan,
    op: &PlannedOp,
    evaluation: &Evaluation,
    case: usize,
    first: usize,
) -> (Vec<Cell>, bool) {
    let planned = &op.cases[case];
    let names = &plan.implementations;
    let passed = cell(op, planned, &names[first], Outcome::Passed);
    let Some(timing) = evaluation.timings.iter().find(|timing| timing.case == planned.case.id)
    else {
        let why = if plan.request.on_gpu { "--no-timing" } else { "the emulator cannot time" };
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
