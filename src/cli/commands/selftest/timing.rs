//! `kgen selftest --timing`: the clock proves itself on kernels whose times are known, the judge on
//! kernels that do less once they are timed.

use std::ffi::OsString;

use kgen_baseline::side::{Client, Side, Sidecar};
use kgen_compile::Toolchain;
use kgen_device::{CudaDevice, Device as _};
use kgen_record::{Session, Target};
use kgen_selftest::{
    judge::{self, Kind, Requests},
    timing::{self, CheckSchedule, CheckStatus, GpuLab, LADDER, N_LAUNCHES, TimingCheck},
};
use kgen_settings::Settings;
use kgen_worker::LonePython;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Proofs, SelftestArgs, compiler, write};
use crate::{
    cli::{CommandError, Context, exit_codes::Exit, machine, session},
    report::{Screen, TextTable},
};

/// Seed of the checks: a failure can be repeated as far as the GPU allows it.
const SEED: u64 = 7;

/// Family of the kernels that do less once they are timed.
const FAMILY: &str = "timed";

/// The contents of timing.json.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Page {
    /// Name and version of the way in which times are taken.
    protocol: &'static str,
    /// The GPU.
    target: Target,
    session: Session,
    /// The checks.
    rows: Vec<TimingCheck>,
}

/// Runs all checks on one GPU and prints the page. `proofs` has the judge's part, where that was asked
/// for.
pub(super) fn run(
    context: &Context,
    args: &SelftestArgs,
    settings: &Settings,
    toolchain: &Toolchain,
    mut proofs: Proofs,
) -> Result<Exit, CommandError> {
    let ui = &context.ui;
    let ordinal = settings.device.device.first_gpu();
    let mut device = CudaDevice::open(ordinal)?;
    let target = device.target().clone();
    let lock = machine::alone(&context.ui, &target);
    let session = device.begin_session().map_err(kgen_selftest::Error::from)?.clone();
    let runtime = session::runtime()?;
    let mut rows: Vec<TimingCheck> = proofs.judge.iter().map(super::judge::row).collect();
    let mut heard = |row: &TimingCheck| ui.detail(&line(row));
    let ours = {
        let mut lab = GpuLab::new(&compiler(settings, toolchain)?, &mut device)?;
        rows.extend(timing::run(&mut lab, &target, &CheckSchedule::full(SEED), &mut heard)?);
        let ours = timing::climb(&mut lab)?;
        let config = machine::pool_config(ui, settings, settings.device.device, toolchain.clone());
        let start = LonePython::start(&config, ordinal, target.uuid.as_deref());
        let (python, side) = runtime.block_on(Box::pin(start));
        rows.extend(other_clocks(&mut lab, &side)?);
        runtime.block_on(python.end());
        ours
    };
    // The workers and the profiler have the GPU to themselves.
    drop((device, lock));
    rows.extend(timing::nsight(&ours, ladder_args(ordinal, toolchain)));
    rows.extend(runtime.block_on(Box::pin(adversaries(context, settings)))?);
    let protocol = kgen_measure::PROTOCOL;
    let failed = rows.iter().any(|row| row.outcome == CheckStatus::Failed);
    let page = Page { protocol, target, session, rows };
    write(args.out.as_deref(), "timing.json", &page)?;
    let text = ui.screen().wrap(&text(&page, ui.screen()));
    proofs.timing = Some(page);
    ui.result(&proofs, || text)?;
    Ok(if failed { Exit::NotSolved } else { Exit::Ok })
}

/// The arguments with which kgen launches the ladder.
fn ladder_args(ordinal: u32, toolchain: &Toolchain) -> Vec<OsString> {
    let device = format!("cuda:{ordinal}");
    let args = ["selftest", "--ladder", "--offline", "--device", &device, "--nvrtc"];
    let args = args.into_iter().map(OsString::from);
    args.chain([toolchain.nvrtc.clone().into_os_string()]).collect()
}

/// Launches the ladder and measures nothing.
pub(super) fn ladder(settings: &Settings, toolchain: &Toolchain) -> Result<Exit, CommandError> {
    let mut device = CudaDevice::open(settings.device.device.first_gpu())?;
    let mut lab = GpuLab::new(&compiler(settings, toolchain)?, &mut device)?;
    for work in LADDER {
        lab.launch(work, N_LAUNCHES)?;
    }
    Ok(Exit::Ok)
}

/// Compares kgen's clock with that of the Python process, if there is one.
fn other_clocks(lab: &mut GpuLab<'_>, side: &Side) -> Result<Vec<TimingCheck>, CommandError> {
    let missing =
        |reason: String| Ok(vec![TimingCheck::not_measured("clock of Python", "", reason)]);
    match side {
        Side::None => missing("no Python process was asked for".to_owned()),
        Side::Unavailable { reason } => missing(reason.clone()),
        Side::Ready(ready) => match Client::connect(Sidecar::Python, &ready.socket) {
            Ok(mut client) => Ok(timing::python(lab, &mut client)?),
            Err(error) => missing(error.to_string()),
        },
    }
}

/// Judges kernels that do less once they are called again, timing included: as a candidate is, and
/// without the emulator, which finds most of them before a GPU runs them.
async fn adversaries(
    context: &Context,
    settings: &Settings,
) -> Result<Vec<TimingCheck>, CommandError> {
    const CHECK: &str = "adversaries";
    let mut items = judge::items().map_err(|error| CommandError::new(Exit::Config, error))?;
    items.retain(|item| item.family == FAMILY && item.op == "relu" && item.kind == Kind::Control);
    // Only cases of a realistic size are timed, and only an item that asks for them has them.
    items.iter_mut().for_each(|item| item.timed = true);
    let machine = machine::start(&context.ui, settings).await?;
    let pool = &machine.pool;
    let mut requests = Requests::new(&[], SEED)?;
    let mut rows = Vec::new();
    for (item, screen) in items.iter().flat_map(|item| [(item, true), (item, false)]) {
        let mut request = judge::request(&mut requests, item, pool.target(), pool.has_gpu())?;
        request.screen = screen;
        let evaluation = Box::pin(pool.evaluate(request)).await?;
        rows.push(TimingCheck::refused(CHECK, &judge::conclude(item, &evaluation), screen));
    }
    machine.pool.shutdown().await;
    Ok(rows)
}

/// One row in words.
fn line(row: &TimingCheck) -> String {
    let TimingCheck { check, what, found, .. } = row;
    format!("{check}: {what}: {found}: {}", result(row))
}

fn result(row: &TimingCheck) -> &'static str {
    match row.outcome {
        CheckStatus::Passed => "passed",
        CheckStatus::Failed => "FAILED",
        CheckStatus::Informational => "-",
        CheckStatus::NotMeasured(_) => "not measured",
    }
}

/// The page.
fn text(page: &Page, screen: Screen) -> String {
    let mut table = TextTable::new(&["check", "of", "found", "must be", "result"]);
    for row in &page.rows {
        let found = match &row.outcome {
            CheckStatus::NotMeasured(reason) => reason.clone(),
            CheckStatus::Passed | CheckStatus::Failed | CheckStatus::Informational => {
                row.found.clone()
            }
        };
        let (check, result) = (row.check.to_owned(), result(row).to_owned());
        table.row(vec![check, row.what.clone(), found, row.asked.clone(), result]);
    }
    let count = |wanted: &dyn Fn(&CheckStatus) -> bool| {
        page.rows.iter().filter(|row| wanted(&row.outcome)).count()
    };
    let n_passed = count(&|outcome| *outcome == CheckStatus::Passed);
    let n_failed = count(&|outcome| *outcome == CheckStatus::Failed);
    let n_missing = count(&|outcome| matches!(outcome, CheckStatus::NotMeasured(_)));
    format!(
        "{}{}\n\n{}\n\n{n_passed} passed, {n_failed} failed, {n_missing} not measured",
        head(&page.target),
        calibrated(&page.session),
        table.fit(screen)
    )
}

fn head(target: &Target) -> String {
    let uuid = target.uuid.as_deref().unwrap_or("no UUID");
    format!("{} on {} ({uuid})", kgen_measure::PROTOCOL, target.name)
}

/// The first measurements of the machine.
fn calibrated(session: &Session) -> String {
    let c = &session.calibration;
    let parts = [
        ("event tick", c.event_tick_ns, "ns", 0),
        ("two events", c.event_floor_us, "us", 2),
        ("empty kernel", c.empty_kernel_us, "us", 2),
        ("read", c.read_gbs, "GB/s", 0),
        ("copy", c.copy_gbs, "GB/s", 0),
        ("triad", c.triad_gbs, "GB/s", 0),
    ];
    let told = parts.into_iter().filter_map(|(name, value, unit, digits)| {
        value.map(|value| format!("{name} {value:.digits$} {unit}"))
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!("\n{}", told.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_says_what_was_found_and_what_was_not_measured() {
        let rows = vec![
            TimingCheck::judged("equal kernels", "relu 16M", true).found("200 same of 200"),
            TimingCheck::not_measured("clock of Python", "", "no Python with torch"),
        ];
        let session = Session::default();
        let target = Target::h100_class();
        let page = Page { protocol: "p", target, session, rows };
        let text = text(&page, Screen::FILE);
        assert!(
            text.starts_with("kgen-time/1 on H100-class (emulated) (no UUID)\n\ncheck"),
            "{text}"
        );
        assert!(text.contains("no Python with torch"), "{text}");
        assert!(text.ends_with("\n\n1 passed, 0 failed, 1 not measured"), "{text}");
    }
}
