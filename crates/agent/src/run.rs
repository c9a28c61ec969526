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
    let (ops, failures) = dispatch(&context, state).await;

    let end = end_of(&ops, failures);
    let seconds = start.elapsed().as_secs_f64();
    let totals = totals(&context, &ops, seconds)?;
    let status = match end {
        RunEnd::Finished => RunStatus::Finished,
        RunEnd::AwaitingReplies => RunStatus::AwaitingReplies,
        RunEnd::BudgetReached { .. }
        | RunEnd::Interrupted
        | RunEnd::Incomplete(_)
        | RunEnd::Failed(_) => RunStatus::Stopped,
    };
    let end = match (store.set_status(status, Some(totals)), end) {
        // The first failure says more than the one it led to.
        (Ok(()), end) | (Err(_), end @ RunEnd::Failed(_)) => end,
        (Err(error), _) => RunEnd::Failed(error.into()),
    };
    Ok(RunOutcome { ops, end, totals })
}

/// The first failure of an op, and the first that ended the run.
#[derive(Debug, Default)]
struct Failures {
    of_op: Option<Error>,
    of_run: Option<Error>,
}

/// Works on all ops, some at a time; returns their outcomes in order.
async fn dispatch<L: Llm, J: EvaluationService, M: RunInputs>(
    context: &Arc<Context<L, J, M>>,
    mut state: RunState,
) -> (Vec<OpOutcome>, Failures) {
    let stop = &context.deps.stop;
    let mut outcomes = vec![None; context.plan.ops.len()];
    let mut waiting = Vec::new();
    for (index, op) in context.plan.ops.iter().enumerate().rev() {
        let state = state.ops.remove(&op.key).unwrap_or_default();
        waiting.push((index, OpTask::new(Arc::clone(context), op.clone(), state)));
    }
    let mut tasks = JoinSet::new();
    let mut indices = HashMap::new();
    let mut failures = Failures::default();
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
                let first = failures.of_op.take().unwrap_or(error);
                if n_failures < FAILURE_LIMIT {
                    failures.of_op = Some(first);
                } else {
                    failures.of_run.get_or_insert(first);
                    stop.raise(Shutdown::Draining);
                }
            }
            Some(Failure::OfRun(error)) => {
                failures.of_run.get_or_insert(error);
                stop.raise(Shutdown::Draining);
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
    (outcomes.into_iter().enumerate().map(missing).collect(), failures)
}

fn end_of(ops: &[OpOutcome], Failures { of_op, of_run }: Failures) -> RunEnd {
    let any = |is: fn(&OpEnd) -> bool| ops.iter().any(|op| is(&op.end));
    let none_answered = ops.iter().all(|op| matches!(op.end, OpEnd::Failed { .. }));
    let (of_run, of_op) = if none_answered { (of_run.or(of_op), None) } else { (of_run, of_op) };
    if let Some(error) = of_run {
        RunEnd::Failed(error)
    } else if any(|end| *end == OpEnd::Interrupted) {
        RunEnd::Interrupted
    } else if let Some(cap) = cap_reached(ops) {
        RunEnd::BudgetReached { cap }
    } else if any(|end| matches!(end, OpEnd::Awaiting { .. })) {
        RunEnd::AwaitingReplies
    } else {
        of_op.map_or(RunEnd::Finished, RunEnd::Incomplete)
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
