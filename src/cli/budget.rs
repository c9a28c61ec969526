//! The budget of a run: from the settings, with what the run has taken before, and what is said when it
//! is reached.

use super::{CommandError, exit_codes::Exit, providers::Provider};
use crate::{
    llm::{Budget, BudgetCaps, BudgetError, Charged, Pricer},
    record::{Cap, CapKind, CapScope},
    report::usd_text,
    settings::Settings,
    store::{self, Run, RunState},
};

/// Returns the budget that the settings give to a provider's calls.
///
/// # Errors
///
/// Caps that cannot work: before anything has begun.
pub(super) fn open(settings: &Settings, provider: &Provider) -> Result<Budget, CommandError> {
    let caps = BudgetCaps { run: settings.budget.of_run(), op: settings.budget.of_op() };
    let pricer = Pricer::new(&provider.config, &settings.models)?;
    Ok(Budget::new(caps, pricer, settings.llm.max_tokens.into())?)
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

/// Says which cap is reached, what was spent, and how to go on.
pub(super) fn reached(cap: &Cap, charged: &Charged, resume: &str) -> Vec<String> {
    let of = match cap.scope {
        CapScope::Run => "",
        CapScope::Op => " by some op",
    };
    let more = format!("{} {}", flag(cap), number(cap.kind, 2.0 * cap.limit));
    vec![
        format!("the cap of {cap} is reached{of}; charged so far: {}", charged_text(charged)),
        format!("{resume} {more}"),
    ]
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
    parts.push(format!("{seconds:.0} s"));
    parts.join(", ")
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

fn number(kind: CapKind, limit: f64) -> String {
    match kind {
        CapKind::Usd => format!("{limit}"),
        CapKind::Tokens | CapKind::Calls | CapKind::Seconds => format!("{limit:.0}"),
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
            BudgetError::BadPrice { .. } => Vec::new(),
        };
        let error = Self::new(Exit::Config, error);
        hints.into_iter().fold(error, Self::hint)
    }
}
