//! The budget of a run: from the settings, with what the run has taken before, and what is said when it
//! is reached.

use super::{CommandError, exit_codes::Exit, providers::Provider};
use crate::{
    agent::{OpEnd, RunOutcome},
    llm::{Budget, BudgetCaps, BudgetError, Charged, Pricer},
    record::{Cap, CapKind, CapScope, OpKey, RunId},
    report::usd_text,
    settings::Settings,
    store::{self, Run, RunState, Spent},
};

/// Returns the budget that the settings give to a provider's calls.
///
/// # Errors
///
/// Caps that cannot work: before anything has begun.
pub(super) fn open(settings: &Settings, provider: &Provider) -> Result<Budget, CommandError> {
    let caps = BudgetCaps { run: settings.budget.of_run(), op: settings.budget.of_op() };
    let pricer = Pricer::new(&provider.config, &settings.models)?;
    let limit = provider.config.reply_limit(settings.llm.max_tokens);
    Ok(Budget::new(caps, pricer, limit)?)
}

/// Charges what the run has taken before.
pub(super) fn charge_earlier(
    budget: &Budget,
    run: &Run,
    state: &RunState,
    calls_wait: bool,
) -> Result<(), CommandError> {
    let spent = store::spent(run, state, calls_wait)?;
    budget.charge_seconds(spent.seconds);
    for (op, (spend, seconds)) in &spent.ops {
        budget.charge(op, spend);
        budget.charge_op_seconds(op, *seconds);
    }
    Ok(())
}

/// Charges what another run has taken that shares the caps: its ops are its own.
pub(super) fn charge_other(budget: &Budget, run: &RunId, spent: &Spent) {
    budget.charge_seconds(spent.seconds);
    for (op, (spend, _)) in &spent.ops {
        budget.charge(&OpKey(format!("{run}/{op}")), spend);
    }
}

/// Says which cap is reached, what is charged, and the command to go on with a higher one.
pub(super) fn reached(
    cap: &Cap,
    budget: &Budget,
    outcome: &RunOutcome,
    resume: &str,
) -> Vec<String> {
    let mut lines = Vec::new();
    match cap.scope {
        CapScope::Run => {
            let charged = charged_text(&budget.charged());
            lines.push(format!("the cap of {cap} is reached: {charged}"));
        }
        CapScope::Op => {
            for op in &outcome.ops {
                if let (OpEnd::BudgetReached { cap }, false) = (&op.end, op.passed()) {
                    let charged = charged_text(&budget.charged_to(&op.key));
                    lines.push(format!("{}: the cap of {cap} is reached: {charged}", op.op));
                }
            }
        }
    }
    let more = higher(cap);
    lines.push(format!("go on with `{resume} {} {more}`", flag(cap)));
    lines
}

fn charged_text(charged: &Charged) -> String {
    let Charged { usd, tokens, calls, seconds } = charged;
    let calls = format!("{calls} call{}", if *calls == 1 { "" } else { "s" });
    let mut parts = vec![calls];
    if 0 < *tokens {
        parts.push(format!("{tokens} tokens"));
    }
    if 0.0 < *usd {
        parts.push(usd_text(*usd));
    }
    let parts = parts.join(", ");
    format!("{parts} and {seconds:.1} s are charged, and another call might exceed it")
}

/// Returns the flag of a cap.
const fn flag(cap: &Cap) -> &'static str {
    match (cap.scope, cap.kind) {
        (CapScope::Run, CapKind::Usd) => "--max-cost",
        (CapScope::Run, CapKind::Tokens) => "--max-total-tokens",
        (CapScope::Run, CapKind::Calls) => "--max-calls",
        (CapScope::Run, CapKind::Seconds) => "--max-time",
        (CapScope::Op, CapKind::Usd) => "--max-cost-per-op",
        (CapScope::Op, CapKind::Tokens) => "--max-tokens-per-op",
        (CapScope::Op, CapKind::Calls) => "--max-calls-per-op",
        (CapScope::Op, CapKind::Seconds) => "--max-time-per-op",
    }
}

/// Returns twice the limit, as its flag takes it.
fn higher(cap: &Cap) -> String {
    let limit = 2.0 * cap.limit;
    match cap.kind {
        CapKind::Usd => format!("{limit}"),
        CapKind::Tokens | CapKind::Calls | CapKind::Seconds => format!("{:.0}", limit.ceil()),
    }
}

impl From<BudgetError> for CommandError {
    fn from(error: BudgetError) -> Self {
        let hints = match &error {
            BudgetError::Unpriced { model, cap, .. } => {
                let tokens = match cap.scope {
                    CapScope::Run => "--max-total-tokens",
                    CapScope::Op => "--max-tokens-per-op",
                };
                vec![
                    format!(
                        "put what it costs into config.toml, in US dollars per million tokens:\n\n    \
                         [models.\"{model}\"]\n    price = {{ input = 1.0, output = 5.0 }}\n"
                    ),
                    format!("or cap tokens in place of dollars: {tokens} N"),
                ]
            }
            BudgetError::NoCallFits { cap, .. } => vec![format!("{} sets a higher cap", flag(cap))],
            BudgetError::Unlimited { model, .. } => vec![format!(
                "say in config.toml how long its replies are at most:\n\n    \
                 [models.\"{model}\"]\n    max_output_tokens = 16000\n"
            )],
            BudgetError::BadPrice { .. } => Vec::new(),
        };
        let error = Self::new(Exit::Config, error);
        hints.into_iter().fold(error, Self::hint)
    }
}
