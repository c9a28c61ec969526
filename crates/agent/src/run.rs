//! The dispatcher: which ops are worked on, and how the run as a whole ends.

use std::{collections::HashMap, sync::Arc, time::Instant};

use kgen_record::{Cap, CapScope};
use kgen_store::{CallState, RunState, RunStatus, Totals};
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    BoxError, CandidateSource, Deps, Error, EvaluationService, Event, Llm, OpEnd, OpOutcome,
    RunEnd, RunInputs, RunOutcome, RunSpec, Shutdown,
    context::Context,
    op::{Failure, OpTask},
};

/// Ops in a row that failed through no fault of their candidates before nothing more is started.
const FAILURE_LIMIT: u32 = 3;

/// Runs a run, or goes on with it: stages in the run directory are not repeated.
///
/// The outcome holds the failure that ended the run early, if one did; everything before it is
/// stored, and the same call with the same directory goes on from there.
///
/// # Errors
///
/// When the run directory cannot be read at the beginning or written at the end.
pub async fn run<L: Llm, J: EvaluationService, M: RunInputs>(
    plan: RunSpec,
    deps: Deps<L, J, M>,
    events: mpsc::UnboundedSender<Event>,
) -> Result<RunOutcome, Error> {
    let start = Instant::now();
    let store = Arc::clone(&deps.store);
    let state = store.state();
    store.set_status(RunStatus::Running, store.run().info().totals)?;
    let context = Arc::new(Context { plan, deps, events });
    for message in &state.notes {
        context.send(Event::Note { message: message.clone() });
    }
    let (ops, failure) = dispatch(&context, state).await;

    let end = end_of(&ops, failure);
    let seconds = start.elapsed().as_secs_f64();
    let totals = totals(&context, &ops, seconds)?;
    let status = match end {
        RunEnd::Finished => RunStatus::Finished,
        RunEnd::AwaitingReplies => RunStatus::AwaitingReplies,
        RunEnd::BudgetReached { .. } | RunEnd::Interrupted | RunEnd::Failed(_) => {
            RunStatus::Stopped
        }
    };
    match (store.set_status(status, Some(totals)), end) {
        (Ok(()), end) => Ok(RunOutcome { ops, end, totals }),
        // The first failure says more than the one it led to.
        (Err(_), RunEnd::Failed(first)) => Err(first),
        (Err(error), _) => Err(error.into()),
    }
}

/// Works on all ops, some at a time; returns their outcomes in order and the failure first.
async fn dispatch<L: Llm, J: EvaluationService, M: RunInputs>(
    context: &Arc<Context<L, J, M>>,
    mut state: RunState,
) -> (Vec<OpOutcome>, Option<Error>) {
    let stop = &context.deps.stop;
    let mut outcomes = vec![None; context.plan.ops.len()];
    let mut waiting = Vec::new();
    for (index, op) in context.plan.ops.iter().enumerate().rev() {
        let state = state.ops.remove(&op.key).unwrap_or_default();
        waiting.push((index, OpTask::new(Arc::clone(context), op.clone(), state)));
    }
    let mut tasks = JoinSet::new();
    let mut indices = HashMap::new();
    let mut failure = None;
    let mut n_failures = 0;
    loop {
        while stop.level() == Shutdown::Running
            && tasks.len() < context.plan.max_concurrent_ops.max(1)
            && let Some((index, task)) = waiting.pop()
        {
            indices.insert(tasks.spawn(task.work()).id(), index);
        }
        let Some(joined) = tasks.join_next_with_id().await else { break };
        let failed = match joined {
            Ok((id, (outcome, failed))) => {
                outcomes[indices[&id]] = Some(outcome);
                failed
            }
            Err(panicked) => Some(Failure::OfRun(Error::Panicked(BoxError::from(panicked)))),
        };
        match failed {
            None => n_failures = 0,
            Some(Failure::OfOp(error)) => {
                n_failures += 1;
                failure.get_or_insert(error);
                if FAILURE_LIMIT <= n_failures {
                    stop.raise(Shutdown::Graceful);
                }
            }
            Some(Failure::OfRun(error)) => {
                failure.get_or_insert(error);
                stop.raise(Shutdown::Graceful);
            }
        }
    }
    for (index, task) in waiting {
        outcomes[index] = Some(task.untouched());
    }
    let missing = |(index, outcome): (usize, Option<OpOutcome>)| {
        outcome.unwrap_or_else(|| {
            let task = OpTask::new(
                Arc::clone(context),
                context.plan.ops[index].clone(),
                Default::default(),
            );
            task.untouched()
        })
    };
    (outcomes.into_iter().enumerate().map(missing).collect(), failure)
}

fn end_of(ops: &[OpOutcome], failure: Option<Error>) -> RunEnd {
    let any = |is: fn(&OpEnd) -> bool| ops.iter().any(|op| is(&op.end));
    if let Some(error) = failure {
        RunEnd::Failed(error)
    } else if any(|end| *end == OpEnd::Interrupted) {
        RunEnd::Interrupted
    } else if let Some(cap) = cap_reached(ops) {
        RunEnd::BudgetReached { cap }
    } else if any(|end| matches!(end, OpEnd::Awaiting { .. })) {
        RunEnd::AwaitingReplies
    } else {
        RunEnd::Finished
    }
}

/// Returns the cap that left something to be done: one of the run always does, that of an op where
/// the op has no kernel that passed.
fn cap_reached(ops: &[OpOutcome]) -> Option<Cap> {
    let caps = ops.iter().filter_map(|op| match op.end {
        OpEnd::BudgetReached { cap } => Some((op, cap)),
        _ => None,
    });
    let caps: Vec<_> = caps
        .filter(|(op, cap)| cap.scope == CapScope::Run || !op.passed())
        .map(|(_, cap)| cap)
        .collect();
    let of_run = caps.iter().find(|cap| cap.scope == CapScope::Run);
    of_run.or(caps.first()).copied()
}

fn totals<L: Llm, J: EvaluationService, M: RunInputs>(
    context: &Context<L, J, M>,
    ops: &[OpOutcome],
    seconds: f64,
) -> Result<Totals, Error> {
    let run = context.store().run();
    let state = context.store().state();
    let calls_wait = matches!(context.plan.source, CandidateSource::Llm { calls_wait: true, .. });
    let spent = kgen_store::spent(run, &state, calls_wait)?;
    let attempts = || state.ops.values().flat_map(|op| op.attempts.values());
    let count = |n: usize| u32::try_from(n).expect("a run has fewer than 2^32 of anything");
    Ok(Totals {
        ops: count(ops.len()),
        solved: count(ops.iter().filter(|op| op.passed()).count()),
        attempts: count(attempts().filter(|attempt| attempt.record.is_some()).count()),
        calls: state.n_calls(),
        lost_calls: attempts().map(|attempt| attempt.n_calls(CallState::Lost)).sum(),
        spend: spent.ops.values().map(|(spend, _)| *spend).sum(),
        seconds: seconds + run.info().totals.map_or(0.0, |totals| totals.seconds),
    })
}
