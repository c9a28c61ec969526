//! `kgen doctor`: the findings, the missing parts, how to get them.

use std::path::PathBuf;

use clap::Args;
use kgen_baseline::python::{self, HOW_TO};
use kgen_llm::PRESETS;
use kgen_measure::Fingerprint;
use kgen_process::sandbox::Report;
use kgen_record::Session;
use kgen_settings::{DeviceChoice, Overrides, Settings, env};
use kgen_worker::{Gpu, Pool};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    cli::{
        CommandError, Context,
        args::{FormatArgs, NvrtcArgs, PythonArgs},
        exit_codes::Exit,
        machine, providers, session,
    },
    report::{Screen, TextTable, Tone},
};

/// Report the tools and devices of this machine, and how to get the missing ones
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Device: auto, emu, cuda:N, several as cuda:0,cuda:1, or cuda for all GPUs
    #[arg(long, value_name = "DEVICE", help_heading = "Device")]
    device: Option<String>,
    /// Workers that compile and emulate; 0 is one per core
    #[arg(long, value_name = "N", help_heading = "Device")]
    jobs: Option<i64>,
    #[command(flatten)]
    nvrtc: NvrtcArgs,
    #[command(flatten)]
    python: PythonArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// How something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It works.
    Ok,
    /// It is missing, and kgen works without it.
    Missing,
    /// It is wrong, and kgen does not work before it is right.
    Bad,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Bad => "bad",
        }
    }

    const fn tone(self) -> Tone {
        match self {
            Self::Ok => Tone::Good,
            Self::Missing => Tone::Open,
            Self::Bad => Tone::Bad,
        }
    }
}

/// A tool, a device or a setting.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Item {
    /// Its name; several items may have the same.
    what: &'static str,
    state: State,
    /// Facts about it, or why it does not work.
    found: String,
    /// How to get it; empty where nothing is to be done.
    advice: String,
}

impl Item {
    fn new(what: &'static str, state: State, found: impl Into<String>) -> Self {
        Self { what, state, found: found.into(), advice: String::new() }
    }

    fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }
}

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> Result<Exit, CommandError> {
    let mut flags = Overrides::default();
    flags.set("device.device", args.device.clone());
    flags.set("device.jobs", args.jobs);
    args.nvrtc.add_to(&mut flags);
    args.python.add_to(&mut flags);
    let settings = context.settings(&flags)?;
    let mut items = vec![nvrtc(&settings), pip(), cache(&settings)];
    items.extend(workers(context, &settings)?);
    let driver = kgen_device::driver_version();
    let uses = "the backend cublas and library steps";
    items.push(library("cuBLASLt", kgen_device::find_cublaslt(driver), uses));
    items.push(library(
        "cuDNN",
        kgen_device::find_cudnn(driver),
        "library steps with convolutions",
    ));
    items.push(pytorch(&settings));
    items.push(profilers());
    items.push(keys());
    items.push(runs_folder(&settings));
    let ui = &context.ui;
    ui.result(&items, || ui.screen().wrap(&text(&items, ui.screen())))?;
    let bad = items.iter().any(|item| item.state == State::Bad);
    Ok(if bad { Exit::Device } else { Exit::Ok })
}

/// Returns the table, the advice on each missing part, and what all of it means.
fn text(items: &[Item], screen: Screen) -> String {
    let mut table = TextTable::new(&["what", "state", "found"]).yielding(&[("found", 24)]);
    for item in items {
        let state = screen.paint(item.state.tone(), item.state.name());
        table.row(vec![item.what.to_owned(), state, item.found.clone()]);
    }
    let mut text = table.fit(screen);
    for item in items.iter().filter(|item| !item.advice.is_empty()) {
        text = format!("{text}\n\n{}: {}", item.what, item.advice);
    }
    format!("{text}\n\n{}", conclusion(items))
}

/// Says which commands work on this machine, which do not and why, and which to try next.
fn conclusion(items: &[Item]) -> String {
    let is = |what: &str, state: State| {
        items.iter().any(|item| item.what == what && item.state == state)
    };
    if let Some(bad) = items.iter().find(|item| item.state == State::Bad) {
        let next = if bad.advice.is_empty() { &bad.found } else { &bad.advice };
        return format!(
            "works here: list, show, report, compare\ndoes not: all that compiles a kernel, because of \
             {}\nnext: {next}",
            bad.what,
        );
    }
    let has_gpu = is("GPU", State::Ok);
    let mut works = vec![if has_gpu {
        "generate, run, eval on the GPU, with times"
    } else {
        "generate, run, eval on the emulator: right or wrong, no times"
    }];
    let mut lacks = Vec::new();
    let mut part = |works_now: bool, what: &'static str, why: &str| {
        if works_now { works.push(what) } else { lacks.push(format!("{what} ({why})")) }
    };
    let has_key = is("LLM keys", State::Ok);
    part(has_key, "a model by API", "no key; replays, the mailbox and local models work");
    part(has_gpu, "speedups", "no GPU");
    let has_python = is("PyTorch", State::Ok);
    part(has_python && has_gpu, "PyTorch baselines", if has_gpu { "no PyTorch" } else { "no GPU" });
    let has_profilers = is("profilers", State::Ok);
    part(has_profilers && has_gpu, "profile", if has_gpu { "no profilers" } else { "no GPU" });
    let next = if has_key {
        "`kgen generate --ops softmax` asks a model for a kernel".to_owned()
    } else {
        "`kgen generate --ops softmax` replays a recorded session; with a key it asks a model"
            .to_owned()
    };
    let lacks = lacks.join(", ");
    let lacks = if lacks.is_empty() { String::new() } else { format!("does not: {lacks}\n") };
    format!("works here: {}\n{lacks}next: {next}", works.join(", "))
}

fn nvrtc(settings: &Settings) -> Item {
    match machine::locate(&settings.nvrtc) {
        Ok(found) => {
            let (major, minor) = found.version;
            let headers = if found.complete { "with headers" } else { "without all headers" };
            let path = found.nvrtc.display();
            let text = format!("{major}.{minor} {headers}, found by {}: {path}", found.found_by);
            let state = if found.complete { State::Ok } else { State::Missing };
            let item = Item::new("NVRTC", state, text);
            if found.complete {
                item
            } else {
                item.advice(
                    "kernels that include CUDA's headers will not compile; a complete \
                             toolkit or `kgen setup` brings them",
                )
            }
        }
        Err(error) => {
            let advice = if settings.nvrtc.offline {
                "downloads are forbidden (KGEN_OFFLINE): `kgen setup` without that installs it, or \
                 install the CUDA toolkit's and name it with --nvrtc or KGEN_NVRTC"
            } else {
                "`kgen setup` installs it with pip; any command that needs it does so too"
            };
            Item::new("NVRTC", State::Bad, error.to_string()).advice(advice)
        }
    }
}

fn pip() -> Item {
    let scratch = std::env::temp_dir();
    let spec = kgen_process::Spec::new("python3", scratch).args(["-m", "pip", "--version"]);
    let version = kgen_process::run(&spec)
        .ok()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .filter(|text| text.starts_with("pip "));
    match version {
        Some(version) => Item::new("python, pip", State::Ok, version),
        None => Item::new("python, pip", State::Missing, "`python3 -m pip` does not work")
            .advice("needed only to install NVRTC: install Python 3 with pip"),
    }
}

fn cache(settings: &Settings) -> Item {
    let Some(cache) = settings.nvrtc.cache() else {
        return Item::new("cache folder", State::Missing, "there is no home folder")
            .advice("KGEN_CACHE_DIR names a folder for downloads and compiled kernels");
    };
    let writable = machine::probe_writable(&cache);
    match writable {
        Ok(()) => Item::new("cache folder", State::Ok, cache.display().to_string()),
        Err(error) => {
            let text = format!("{} cannot be written to: {error}", cache.display());
            Item::new("cache folder", State::Missing, text)
                .advice("KGEN_CACHE_DIR names another folder")
        }
    }
}

/// Starts the workers as a run would, and reports their facts.
fn workers(context: &Context, settings: &Settings) -> Result<Vec<Item>, CommandError> {
    let Ok(toolchain) = machine::locate(&settings.nvrtc) else {
        return Ok(vec![
            Item::new("compiler", State::Bad, "not tried: there is no NVRTC"),
            Item::new("GPU", State::Missing, "not tried: there is no NVRTC"),
        ]);
    };
    let runtime = session::runtime()?;
    let choice = match machine::device_choice(settings) {
        Ok(choice) => choice,
        Err(error) => return Ok(vec![Item::new("GPU", State::Bad, error.source.to_string())]),
    };
    let config = machine::pool_config(&context.ui, settings, choice, toolchain);
    context.ui.detail("starting the workers");
    let started = runtime.block_on(Box::pin(Pool::start(config)));
    let pool = match started {
        Ok(pool) => pool,
        Err(error) => {
            return Ok(vec![Item::new("workers", State::Bad, error.to_string())]);
        }
    };
    let version = pool.nvrtc().unwrap_or("of unknown version").to_owned();
    let n_jobs = pool.split().cpu_workers;
    let compiler = format!("NVRTC {version} loads; {n_jobs} cpu workers");
    let mut items = vec![Item::new("compiler", State::Ok, compiler)];
    items.push(sandbox("cpu workers", pool.sandbox()));
    for found in pool.gpus() {
        items.push(sandbox(&format!("worker of cuda:{}", found.index), found.sandbox.as_ref()));
        items.push(gpu(found));
        items.extend(measured(found));
    }
    if !pool.has_gpu() {
        items.push(no_gpu(settings, &pool));
    }
    runtime.block_on(pool.shutdown());
    Ok(items)
}

fn gpu(gpu: &Gpu) -> Item {
    let name = format!("cuda:{}", gpu.index);
    let Some(target) = &gpu.target else { return Item::new("GPU", State::Ok, name) };
    let driver = target.driver_version.map_or(String::new(), |version| {
        format!(", driver for CUDA {}.{}", version / 1000, version % 1000 / 10)
    });
    let uuid = target.uuid.as_ref().map_or(String::new(), |uuid| format!(", {uuid}"));
    let text = format!("{name}: {}, {}{driver}{uuid}", target.name, target.arch);
    Item::new("GPU", State::Ok, text)
}

/// Says which walls hold around a kind of process.
fn sandbox(of: &str, report: Option<&Report>) -> Item {
    let Some(Report { held, missing }) = report else {
        return Item::new("sandbox", State::Missing, format!("{of}: off (device.sandbox)"));
    };
    let held = format!("{of}: {}", held.join(", "));
    if missing.is_empty() {
        return Item::new("sandbox", State::Ok, held);
    }
    let text = format!("{held}; without {}", missing.join(", "));
    Item::new("sandbox", State::Missing, text)
        .advice("guards, plans and verdicts do not depend on it; it is a second wall around them")
}

/// Reports the measurements of a GPU's worker at its start, and conditions that may spoil timing.
fn measured(gpu: &Gpu) -> Vec<Item> {
    let Some(session) = &gpu.session else { return Vec::new() };
    let Session { fingerprint, calibration } = &**session;
    let mut parts = Vec::new();
    let mut add = |value: Option<f64>, text: &dyn Fn(f64) -> String| {
        parts.extend(value.map(text));
    };
    add(calibration.empty_kernel_us, &|us| format!("an empty kernel takes {us:.2} us"));
    add(calibration.event_tick_ns, &|ns| format!("the clock steps by {ns:.0} ns"));
    add(calibration.read_gbs, &|gbs| format!("{gbs:.0} GB/s read"));
    add(calibration.copy_gbs, &|gbs| format!("{gbs:.0} copied"));
    add(calibration.triad_gbs, &|gbs| format!("{gbs:.0} triad"));
    add(calibration.dirty_flush_us_delta, &|us| format!("dirty lines of a flush cost {us:.2} us"));
    let mut items = vec![Item::new("timing", State::Ok, parts.join(", "))];
    let facts = facts(fingerprint);
    if !facts.is_empty() {
        items.insert(0, Item::new("GPU", State::Ok, facts));
    }
    let mut warn = |is_so: bool, text: &str| {
        if is_so {
            items.push(Item::new("timing", State::Missing, text));
        }
    };
    warn(calibration.flush_works() == Some(false), "flushing the L2 cache shows no effect");
    warn(fingerprint.driver.is_none(), "clocks and throttling are not watched: there is no NVML");
    let company = machine::company(gpu);
    warn(company.is_some(), company.as_deref().unwrap_or_default());
    warn(
        fingerprint.mig == Some(true),
        "the GPU is split into instances (MIG), which share its caches",
    );
    warn(fingerprint.clocks_locked == Some(true), "its clocks are not the default ones");
    items
}

/// Returns how a GPU is set up, as far as it is known.
fn facts(fingerprint: &Fingerprint) -> String {
    let switch = |name: &str, state: Option<bool>| {
        state.map(|on| format!("{name} {}", if on { "on" } else { "off" }))
    };
    let parts = [
        switch("ECC", fingerprint.ecc),
        switch("MIG", fingerprint.mig),
        switch("persistence", fingerprint.persistence),
        fingerprint.power_limit_w.map(|watts| format!("power limit {watts:.0} W")),
        fingerprint.max_sm_mhz.map(|mhz| format!("up to {mhz:.0} MHz")),
        fingerprint.driver.as_ref().map(|version| format!("driver {version}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn no_gpu(settings: &Settings, pool: &Pool) -> Item {
    if settings.device.device == DeviceChoice::Emu {
        return Item::new("GPU", State::Missing, "not asked for (--device emu)");
    }
    let reason = match (pool.gpu_refusal(), kgen_device::gpus()) {
        (Some(refusal), _) => refusal.to_string(),
        (None, Err(error)) => error.to_string(),
        (None, Ok(_)) => "none is used".to_owned(),
    };
    Item::new("GPU", State::Missing, reason).advice(format!(
        "kernels run on the emulator ({}), which checks them and cannot time them; a GPU needs \
         NVIDIA's driver",
        pool.target().name
    ))
}

/// Says where the library of the baseline and backend `cublas` is.
fn library(name: &'static str, found: Result<Option<PathBuf>, String>, uses: &str) -> Item {
    match found {
        Ok(Some(path)) => Item::new(name, State::Ok, path.display().to_string()),
        Ok(None) => Item::new(name, State::Ok, "found by the system's loader"),
        Err(missing) => {
            let (found, how_to) = missing.split_once(": ").unwrap_or((&missing, ""));
            let advice = format!("needed only for {uses}: {how_to}");
            Item::new(name, State::Missing, found).advice(advice)
        }
    }
}

/// Says which Python baselines and backends would use; imports nothing.
fn pytorch(settings: &Settings) -> Item {
    match python::find(settings.python.path.as_deref()) {
        Ok(found) => Item::new("PyTorch", State::Ok, found.to_string()),
        Err(missing) => Item::new("PyTorch", State::Missing, missing.looked_at())
            .advice(format!("needed only for `kgen import`, references in Python, and baselines and backends such as aten: {HOW_TO}")),
    }
}

/// Says which of the programs are there that `kgen profile` and static facts use.
fn profilers() -> Item {
    const NAMES: [&str; 3] = ["ncu", "compute-sanitizer", "nvdisasm"];
    let found: Vec<_> =
        NAMES.into_iter().map(|name| (name, kgen_compile::find_tool(name))).collect();
    let there = found.iter().filter_map(|(_, path)| Some(path.as_ref()?.display().to_string()));
    let there: Vec<_> = there.collect();
    let missing = found.iter().filter(|(_, path)| path.is_none()).map(|(name, _)| *name);
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Item::new("profilers", State::Ok, there.join(", "));
    }
    let said = format!("not found: {}", missing.join(", "));
    Item::new("profilers", State::Missing, [there, vec![said]].concat().join("; "))
        .advice("needed only for `kgen profile`, `--profile` and counts of machine code: install CUDA's toolkit, or put them on PATH")
}

/// Says which keys are there, never their values.
fn keys() -> Item {
    let mut variables: Vec<_> = PRESETS.iter().filter_map(|preset| preset.key_variable).collect();
    variables.dedup();
    let there: Vec<_> =
        variables.iter().filter(|name| env::secret(name).is_some()).copied().collect();
    if there.is_empty() {
        return Item::new("LLM keys", State::Missing, "none is set").advice(format!(
            "set {} or {}; without one `kgen generate` replays the bundled session, and \
             --provider mailbox lets a person answer",
            variables[0], variables[1]
        ));
    }
    Item::new("LLM keys", State::Ok, format!("{} set", there.join(", ")))
}

fn runs_folder(settings: &Settings) -> Item {
    let folder = &settings.run.output_dir;
    let n_runs = kgen_store::list_runs(folder)
        .map(|runs| runs.iter().filter(|entry| !providers::is_demo(&entry.dir)).count());
    match n_runs {
        Ok(n_runs) => {
            let text = format!("{}, {}", folder.display(), session::plural(n_runs, "run"));
            Item::new("runs", State::Ok, text)
        }
        Err(error) => Item::new("runs", State::Bad, error.to_string())
            .advice("--output-dir names another folder"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(what: &'static str, state: State) -> Item {
        Item::new(what, state, "/a/folder/of/this/machine/that/has/a/long/path/lib.so.13, and more")
    }

    /// A machine without a GPU, a key, PyTorch and profilers.
    fn bare() -> Vec<Item> {
        let missing = ["GPU", "PyTorch", "profilers", "LLM keys"];
        let missing = missing.map(|what| item(what, State::Missing));
        let advice = "kernels run on the emulator, which checks them and cannot time them; a GPU needs \
                      NVIDIA's driver";
        let mut items = vec![item("NVRTC", State::Ok), item("cache folder", State::Ok)];
        items.extend(missing);
        items[2].advice = advice.to_owned();
        items
    }

    #[test]
    fn the_screen_ends_with_the_commands_that_work_and_the_next_step() {
        for width in [80, 120] {
            let screen = Screen { width: Some(width), color: false };
            let text = screen.wrap(&text(&bare(), screen));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            insta::assert_snapshot!(format!("doctor_{width}"), text);
        }
        let mut items = bare();
        for item in &mut items {
            item.state = State::Ok;
        }
        let said = conclusion(&items);
        assert!(
            said.starts_with("works here: generate, run, eval on the GPU, with times, "),
            "{said}"
        );
        assert!(!said.contains("does not: "), "{said}");
        items[0] = item("NVRTC", State::Bad).advice("`kgen setup` installs it");
        let said = conclusion(&items);
        assert!(said.contains("because of NVRTC\nnext: `kgen setup` installs it"), "{said}");
    }

    #[test]
    fn a_gpu_tells_how_it_is_set_up_and_what_spoils_times() {
        let fingerprint = Fingerprint {
            ecc: Some(true),
            mig: Some(true),
            power_limit_w: Some(700.0),
            driver: Some("580.1".to_owned()),
            n_foreign_processes: Some(2),
            ..Fingerprint::default()
        };
        let session = Some(Box::new(Session { fingerprint, ..Session::default() }));
        let items = measured(&Gpu { index: 0, target: None, session, sandbox: None });
        assert_eq!(items[0].found, "ECC on, MIG on, power limit 700 W, driver 580.1");
        let spoilt: Vec<&str> = items
            .iter()
            .filter(|item| item.state == State::Missing)
            .map(|item| item.found.as_str())
            .collect();
        assert_eq!(spoilt.len(), 2, "{spoilt:?}");
        assert!(spoilt[0].starts_with("cuda:0 is used by 2 other processes: "));
        assert!(spoilt[1].contains("MIG"));
        assert_eq!(facts(&Fingerprint::default()), "");
    }
}
