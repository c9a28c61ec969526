//! `kgen selftest --judge`: verdicts on kernels that are known to be wrong or right.

use futures_util::{StreamExt, stream};
use kgen_record::EvalRequest;
use kgen_selftest::{
    judge::{self, ControlResult, Count, End, Item, Kind, Report, Requests},
    timing,
};
use kgen_settings::Settings;

use super::{JudgeProof, Proofs, SelftestArgs, write};
use crate::{
    cli::{CommandError, Context, exit_codes::Exit, machine, session},
    report::{Screen, TextTable},
};

/// Seed of the drawn shapes and the inputs, unless one is given: a failure can be repeated.
const SEED: u64 = 7;

/// Judges all controls and variants.
pub(super) fn run(
    context: &Context,
    args: &SelftestArgs,
    settings: &Settings,
) -> Result<Report, CommandError> {
    let items = chosen(args)?;
    let runtime = session::runtime()?;
    let report = runtime.block_on(Box::pin(judge_all(context, settings, args, items)))?;
    write(args.out.as_deref(), "judge.json", &report)?;
    Ok(report)
}

/// Returns the outcome as a row of the page on timing.
pub(super) fn row(JudgeProof { report, total }: &JudgeProof) -> timing::TimingCheck {
    let what = format!("{} controls, {} variants", total.n_controls, total.n_variants);
    timing::TimingCheck::judged("judge", what, report.is_clean())
        .found(format!(
            "{} false accepts, {} false rejects",
            total.n_false_accepts, total.n_false_rejects
        ))
        .asked("none")
}

/// Returns the items whose name begins with one of those asked for.
fn chosen(args: &SelftestArgs) -> Result<Vec<Item>, CommandError> {
    let items = args.controls.as_ref().map_or_else(judge::items, |dir| judge::items_in(dir));
    let mut items = items.map_err(|error| CommandError::new(Exit::Config, error))?;
    let wanted = |item: &Item| args.only.iter().any(|part| item.id.contains(part));
    items.retain(|item| args.only.is_empty() || wanted(item));
    if items.is_empty() {
        return Err(CommandError::usage("no control or variant has such a name"));
    }
    Ok(items)
}

async fn judge_all(
    context: &Context,
    settings: &Settings,
    args: &SelftestArgs,
    items: Vec<Item>,
) -> Result<Report, CommandError> {
    let ui = &context.ui;
    // Of the few kernels that are timed each has its GPU alone meanwhile.
    let mut shared = settings.clone();
    shared.timing.enabled = false;
    let machine = machine::start(ui, &shared).await?;
    let pool = &machine.pool;
    let mut requests = Requests::new(&args.suites, args.seed.unwrap_or(SEED))?;
    let jobs: Vec<(Item, EvalRequest)> = items
        .into_iter()
        .map(|item| {
            let request = judge::request(&mut requests, &item, pool.target(), pool.has_gpu())?;
            Ok((item, request))
        })
        .collect::<Result<_, CommandError>>()?;
    ui.note(&format!("{} controls and variants on {}", jobs.len(), machine.device));
    let bar = ui.bar(jobs.len() as u64, "judge");
    let mut report = Report::default();
    let mut failure = None;
    {
        let judged = jobs
            .into_iter()
            .map(|(item, request)| async move { (item, Box::pin(pool.evaluate(request)).await) });
        let mut judged = stream::iter(judged).buffered(pool.n_ahead());
        while let Some((item, evaluation)) = judged.next().await {
            bar.inc(1);
            match evaluation {
                Ok(evaluation) => {
                    let row = judge::conclude(&item, &evaluation);
                    ui.detail(&line(&row));
                    report.rows.push(row);
                }
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
    }
    bar.finish_and_clear();
    machine.pool.shutdown().await;
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(report),
    }
}

/// Prints the judge's part of the proofs, if there is one.
pub(super) fn print(context: &Context, proofs: &Proofs) -> Result<(), CommandError> {
    let Some(JudgeProof { report, total }) = &proofs.judge else { return Ok(()) };
    context.ui.result(proofs, || {
        let surprises = report.surprises().map(|row| format!("\n{}", line(row)));
        let screen = context.ui.screen();
        let table = table(report, total, screen);
        screen.wrap(&(table + &surprises.collect::<String>() + &summary(report, total)))
    })
}

/// One item in words.
fn line(row: &ControlResult) -> String {
    let ControlResult { item, verdict, end, reason, speedup, seconds, .. } = row;
    let end = match end {
        End::Right => "as expected",
        End::FalseAccept => "FALSE ACCEPT",
        End::FalseReject => "FALSE REJECT",
        End::OtherReason => "OTHER REASON",
        End::Unseen => "not seen",
    };
    let open = item.open.as_ref().map_or(String::new(), |open| format!("; KNOWN: {open}"));
    let speed = speedup.map_or(String::new(), |speedup| format!(", {speedup:.2}x"));
    format!("{end}: {} ({}): {verdict}{speed}, {seconds:.2} s; {reason}{open}", item.id, item.why)
}

fn table(report: &Report, total: &Count, screen: Screen) -> String {
    let headers = [
        "family",
        ">controls",
        ">false accepts",
        ">variants",
        ">false rejects",
        ">compared",
        ">BackendBench accepts",
        ">KernelBench accepts",
    ];
    let mut table = TextTable::new(&headers);
    let families = report.by_family();
    let rows = families.iter().map(|(family, count)| (*family, count));
    for (family, count) in rows.chain([("all", total)]) {
        table.row(vec![
            family.to_owned(),
            count.n_controls.to_string(),
            count.n_false_accepts.to_string(),
            count.n_variants.to_string(),
            count.n_false_rejects.to_string(),
            count.n_compared.to_string(),
            format!("{} ({})", count.backendbench.1, count.backendbench.0),
            format!("{} ({})", count.kernelbench.1, count.kernelbench.0),
        ]);
    }
    table.fit(screen)
}

fn summary(report: &Report, total: &Count) -> String {
    let pairs = |kind| report.n_pairs(kind);
    format!(
        "\n{} controls ({} pairs of mechanism and family): {} false accepts, {} refused for another \
         reason than their own.\n{} variants ({} pairs): {} false rejects.\nOther projects' \
         comparison rules on the {} controls whose outputs came to be compared, fed with normal \
         values (with all of kgen's inputs) in the cases that kgen judged:\nBackendBench's accepts {} ({}), KernelBench's {} \
         ({}). The other {} controls are stopped by checks that those do not have, and are in \
         neither count.",
        total.n_controls,
        pairs(Kind::Control),
        total.n_false_accepts,
        total.n_other_reason,
        total.n_variants,
        pairs(Kind::Variant),
        total.n_false_rejects,
        total.n_compared,
        total.backendbench.1,
        total.backendbench.0,
        total.kernelbench.1,
        total.kernelbench.0,
        total.n_controls - total.n_compared,
    )
}
