//! The budget of a run: from the settings, with the cost of the run before, and the message when it
//! is reached.

use kgen_agent::{OpEnd, RunOutcome};
use kgen_llm::{Access, Budget, BudgetCaps, BudgetError, Charged, Pricer};
use kgen_record::{Cap, CapKind, CapScope, OpKey, RunId};
use kgen_settings::Settings;
use kgen_store::{Run, RunState, Spent};

use super::{CommandError, exit_codes::Exit, providers::Provider, ui::Ui};
use crate::report::usd_text;

/// Returns the budget that the settings give to a provider's calls.
///
/// # Errors
///
/// Caps that cannot work: before anything has begun.
pub(super) fn open(
    ui: &Ui,
    settings: &Settings,
    provider: &Provider,
) -> Result<Budget, CommandError> {
    let caps = BudgetCaps { run: settings.budget.of_run(), op: settings.budget.of_op() };
    let pricer = Pricer::new(&provider.config, &settings.models)?;
    let limit = provider.config.reply_limit(settings.llm.max_tokens);
    let kinds = [CapKind::Usd, CapKind::Tokens];
    let caps_use = |kind| caps.run.limit(kind).or(caps.op.limit(kind)).is_some();
    if matches!(provider.config.access, Access::Command(_)) && kinds.into_iter().any(caps_use) {
        ui.warn(&format!(
            "`{}` is a command, whose replies nobody limits: a call may take more than is reserved \
             for it, and caps in dollars and tokens may be passed by that",
            provider.config.name
        ));
    }
    Ok(Budget::new(caps, pricer, limit)?)
}

/// Charges the cost of the run before.
pub(super) fn charge_earlier(
    budget: &Budget,
    run: &Run,
    state: &RunState,
    calls_wait: bool,
) -> Result<(), CommandError> {
    let spent = kgen_store::spent(run, state, calls_wait)?;
    budget.charge_seconds(spent.seconds);
    for (op, (spend, seconds)) in &spent.ops {
        budget.charge(op, spend);
        budget.charge_op_seconds(op, *seconds);
    }
    Ok(())
}

/// Charges the cost of another run that shares the caps: its ops are its own.
pub(super) fn charge_other(budget: &Budget, run: &RunId, spent: &Spent) {
    budget.charge_seconds(spent.seconds);
    for (op, (spend, _)) in &spent.ops {
        budget.charge(&OpKey(format!("{run}/{op}")), spend);
    }
}

/// Says which cap is reached, the charge, and the command to go on with a higher one.
pub(super) fn reached(
    cap: &Cap,
    budget: &Budget,
    outcome: &RunOutcome,
    resume: &str,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut most: f64 = 0.0;
    match cap.scope {
        CapScope::Run => {
            let charged = budget.charged();
            most = amount(&charged, cap.kind);
            lines.push(format!("the cap of {cap} is reached: {}", charged_text(&charged, cap)));
        }
        CapScope::Op => {
            for op in &outcome.ops {
                if let (OpEnd::BudgetReached { cap }, false) = (&op.end, op.passed()) {
                    let charged = budget.charged_to(&op.key);
                    most = most.max(amount(&charged, cap.kind));
                    let charged = charged_text(&charged, cap);
                    lines.push(format!("{}: the cap of {cap} is reached: {charged}", op.op));
                }
            }
        }
    }
    let one_more = match cap.kind {
        CapKind::Seconds => cap.limit,
        kind => amount(&budget.largest(), kind),
    };
    let more = higher(cap, most + one_more);
    lines.push(format!("go on with `{resume} {} {more}`", flag(cap)));
    lines
}

fn charged_text(charged: &Charged, cap: &Cap) -> String {
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
    let why = match cap.kind {
        CapKind::Seconds => "nothing more is begun",
        CapKind::Usd | CapKind::Tokens | CapKind::Calls => "another call might exceed it",
    };
    format!("{parts} and {seconds:.1} s are charged, and {why}")
}

/// Returns the charge of a kind, in its cap's unit.
#[expect(clippy::cast_precision_loss, reason = "a cap to suggest needs a few digits")]
const fn amount(charged: &Charged, kind: CapKind) -> f64 {
    match kind {
        CapKind::Usd => charged.usd,
        CapKind::Tokens => charged.tokens as f64,
        CapKind::Calls => charged.calls as f64,
        CapKind::Seconds => charged.seconds,
    }
}

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

/// Returns twice the limit, or the need of one more call where that is more, as its flag takes it.
fn higher(cap: &Cap, needed: f64) -> String {
    let limit = (2.0 * cap.limit).max(needed);
    match cap.kind {
        // In hundredths of a cent, rounded up.
        CapKind::Usd => format!("{}", (limit * 1e4 - 1e-6).ceil() / 1e4),
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
