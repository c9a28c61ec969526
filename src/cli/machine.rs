//! The machine that kernels are judged on: NVRTC, workers, device.

use std::{
    io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use kgen_compile::{LocateOptions, Progress, ProvisionOptions, Toolchain};
use kgen_device::GpuLock;
use kgen_process::{Access, Scratch};
use kgen_record::{Adapter, Target};
use kgen_settings::{AdapterSettings, DeviceChoice, DeviceSettings, NvrtcSettings, Settings};
use kgen_worker::{Gpu, LaunchConfig, Notice, Notices, Pool, PoolConfig, SideConfig};

use super::{CommandError, exit_codes::Exit, ui::Ui};

/// Cores that a worker keeps busy which shares its GPU.
const CORES_PER_GPU_WORKER: usize = 2;

/// Workers that share a GPU at most.
const MAX_WORKERS_PER_GPU: usize = 6;

/// Makes sure that a folder can be written to, or made; leaves nothing behind.
///
/// Only a write shows it: permissions say nothing about a read-only file system.
pub(crate) fn probe_writable(folder: &Path) -> io::Result<()> {
    let existing = folder.ancestors().find(|path| path.exists() || path.as_os_str().is_empty());
    let existing = existing.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".kgen-probe-").tempdir_in(existing).map(drop)
}

/// Workers that are ready, and their devices.
pub(crate) struct Machine {
    pub(crate) pool: Arc<Pool>,
    /// The device as named on the command line.
    pub(crate) device: DeviceChoice,
}

/// Resolves the device: without a GPU `auto` is the emulator, `cuda` is the list of all GPUs.
pub(crate) fn device_choice(settings: &Settings) -> Result<DeviceChoice, CommandError> {
    let choice = settings.device.device;
    if !settings.device.launch.is_empty() {
        // Nobody here knows the GPUs of other machines.
        return Ok(match choice {
            DeviceChoice::Auto | DeviceChoice::AllGpus => DeviceChoice::Cuda(0),
            DeviceChoice::Emu | DeviceChoice::Cuda(_) | DeviceChoice::Gpus(_) => choice,
        });
    }
    let gpus = kgen_device::choose(choice)?;
    Ok(match choice {
        // One that does not start is no error then.
        DeviceChoice::Auto if !gpus.is_empty() => choice,
        DeviceChoice::Auto
        | DeviceChoice::Emu
        | DeviceChoice::Cuda(_)
        | DeviceChoice::Gpus(_)
        | DeviceChoice::AllGpus => DeviceChoice::of_gpus(gpus).unwrap_or(DeviceChoice::Emu),
    })
}

/// Returns how the workers are started.
pub(crate) fn pool_config(
    ui: &Ui,
    settings: &Settings,
    choice: DeviceChoice,
    toolchain: Toolchain,
) -> PoolConfig {
    let emu_target = settings.device.emu.target();
    let n_jobs = DeviceSettings { device: choice, ..settings.device.clone() }.n_jobs();
    let heard = ui.clone();
    let notices = Notices::new(move |notice| match notice {
        Notice::Note(text) => heard.note(text),
        Notice::Warning(text) => heard.warn(text),
    });
    PoolConfig {
        workers_per_gpu: if settings.timing.enabled { 1 } else { workers_beside_each_other() },
        notices,
        sandbox: settings.device.sandbox,
        profilers: settings.device.profile,
        cache_dir: settings.nvrtc.cache().map(|cache| cache.join("compiled")),
        sides: sides(settings),
        ..PoolConfig::new(toolchain, choice, emu_target, n_jobs)
    }
}

/// Returns how the processes beside workers are started.
fn sides(settings: &Settings) -> SideConfig {
    let AdapterSettings { candle, burn } = &settings.adapters;
    let named = [(Adapter::Candle, candle), (Adapter::Burn, burn)];
    let adapters = named.into_iter().filter_map(|(adapter, path)| Some((adapter, path.clone()?)));
    SideConfig {
        python: settings.python.path.clone(),
        adapters: adapters.collect(),
        ..SideConfig::default()
    }
}

/// Returns how workers are launched on other machines; `None` where they are not.
fn launch_config(settings: &DeviceSettings) -> Result<Option<LaunchConfig>, CommandError> {
    if settings.launch.is_empty() {
        return Ok(None);
    }
    let words = |prefix: &String| {
        let words = shlex::split(prefix).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            CommandError::usage(format!(
                "`{prefix}` is no command that workers could be launched by"
            ))
            .hint("--launch takes one as a shell does, for example \"srun -N1 --gpus=1\"")
        })?;
        Ok(words.into_iter().map(Into::into).collect())
    };
    let prefixes: Result<Vec<_>, CommandError> = settings.launch.iter().map(words).collect();
    Ok(Some(LaunchConfig {
        prefixes: prefixes?,
        n_workers: settings.launch_workers,
        wait: Duration::try_from_secs_f64(settings.launch_wait_s).unwrap_or(FOR_EVER),
    }))
}

/// Returns how many workers share a GPU where nothing is timed: each keeps some cores busy with
/// references, and more than a few gain nothing.
fn workers_beside_each_other() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    (cores / CORES_PER_GPU_WORKER).clamp(1, MAX_WORKERS_PER_GPU)
}

/// Longer than anybody waits, and short enough to be added to a time.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Finds NVRTC and starts the workers.
pub(crate) async fn start(ui: &Ui, settings: &Settings) -> Result<Machine, CommandError> {
    let choice = device_choice(settings)?;
    Scratch::sweep(None);
    let mut toolchain = toolchain(ui, &settings.nvrtc)?;
    if settings.suite.cutlass {
        toolchain.cutlass = Some(cutlass(ui, &settings.nvrtc, &toolchain)?);
    }
    ui.detail(&format!(
        "NVRTC {}.{} found by {}: {}",
        toolchain.version.0,
        toolchain.version.1,
        toolchain.found_by,
        toolchain.nvrtc.display()
    ));
    let launch = launch_config(&settings.device)?;
    if launch.is_some() {
        ui.detail("waiting until a launched worker is ready");
    }
    let config = PoolConfig { launch, ..pool_config(ui, settings, choice, toolchain) };
    let pool = Box::pin(Pool::start(config)).await?;
    let gpus = pool.gpus().iter().map(|gpu| gpu.index);
    let device = DeviceChoice::of_gpus(gpus).unwrap_or(DeviceChoice::Emu);
    if let Some(refusal) = pool.gpu_refusal() {
        ui.warn(&format!("the GPU is not used: {refusal}"));
    }
    for line in pool.gpus().iter().filter_map(company) {
        ui.warn(&line);
    }
    Ok(Machine { pool: Arc::new(pool), device })
}

/// Says that others compute on a GPU; `None` where nobody does, or nobody knows.
pub(crate) fn company(gpu: &Gpu) -> Option<String> {
    let n = gpu.session.as_ref()?.fingerprint.n_foreign_processes.filter(|n| 0 < *n)?;
    let who = if n == 1 { "another process".to_owned() } else { format!("{n} other processes") };
    let name = gpu.target.as_ref().map_or(String::new(), |target| format!(" ({})", target.name));
    Some(format!(
        "cuda:{}{name} is used by {who}: times may suffer; cases that are timed meanwhile are marked \
         shared",
        gpu.index
    ))
}

/// Waits until no other kgen uses a GPU; `None` where that cannot be made sure.
pub(crate) fn alone(ui: &Ui, target: &Target) -> Option<GpuLock> {
    let mut is_announced = false;
    let waited = |_| {
        if !std::mem::replace(&mut is_announced, true) {
            ui.note(&format!("waiting for another kgen that uses {}", target.name));
        }
        true
    };
    GpuLock::wait(target.uuid.as_deref()?, Access::Exclusive, waited).ok().flatten()
}

/// Looks for NVRTC where the settings and the environment say.
pub(crate) fn locate(nvrtc: &NvrtcSettings) -> Result<Toolchain, kgen_compile::Error> {
    kgen_compile::locate(&LocateOptions::new(nvrtc, kgen_device::driver_version()))
}

/// Finds NVRTC with its headers, or installs it where that is allowed.
pub(crate) fn toolchain(ui: &Ui, nvrtc: &NvrtcSettings) -> Result<Toolchain, CommandError> {
    match locate(nvrtc) {
        Ok(found) if found.complete => Ok(found),
        // A place that was asked for is taken as it is.
        Ok(found) if nvrtc.path.is_some() => {
            warn_incomplete(ui, &found);
            Ok(found)
        }
        Ok(found) => install(ui, nvrtc).or_else(|error| {
            ui.detail(&error.render());
            warn_incomplete(ui, &found);
            Ok(found)
        }),
        Err(kgen_compile::Error::NotFound { .. }) => install(ui, nvrtc),
        Err(error) => Err(error.into()),
    }
}

fn warn_incomplete(ui: &Ui, found: &Toolchain) {
    ui.warn(&format!(
        "the NVRTC at {} comes without all CUDA headers: kernels that include them, and f16 and \
         bf16 cases, will not compile",
        found.nvrtc.display()
    ));
}

fn install(ui: &Ui, nvrtc: &NvrtcSettings) -> Result<Toolchain, CommandError> {
    let options = ProvisionOptions::new(nvrtc, kgen_device::driver_version());
    if !options.offline {
        announce(ui, "NVRTC and CUDA's headers", &options);
    }
    with_bar(ui, "NVRTC", |show| kgen_compile::provision(&options, show))
}

/// Finds the headers of CUTLASS, or installs them where that is allowed.
pub(crate) fn cutlass(
    ui: &Ui,
    nvrtc: &NvrtcSettings,
    toolchain: &Toolchain,
) -> Result<PathBuf, CommandError> {
    let options = ProvisionOptions::new(nvrtc, None);
    let installed = options.cache.as_deref().and_then(kgen_compile::installed_cutlass);
    if !options.offline && installed.is_none() {
        announce(ui, "the headers of CUTLASS", &options);
    }
    with_bar(ui, "CUTLASS", |show| {
        kgen_compile::provision_cutlass(&options, toolchain.version, show)
    })
}

fn announce(ui: &Ui, package: &str, options: &ProvisionOptions) {
    let cache = options.cache.as_ref().map_or_else(String::new, |c| c.display().to_string());
    ui.note(&format!(
        "installing {package} with pip into {cache} (once; KGEN_OFFLINE=1 forbids it)"
    ));
}

/// Shows how far an installation is.
fn with_bar<T>(
    ui: &Ui,
    package: &'static str,
    install: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T, kgen_compile::Error>,
) -> Result<T, CommandError> {
    let bar = ui.byte_bar(0, package);
    let mut show = |progress: Progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done.min(progress.total));
        bar.set_message(progress.what);
    };
    let installed = install(&mut show);
    bar.finish_and_clear();
    Ok(installed?)
}

/// The package of CUTLASS's headers in errors.
const CUTLASS: &str = "CUTLASS";

impl From<kgen_compile::Error> for CommandError {
    fn from(error: kgen_compile::Error) -> Self {
        let hint = match &error {
            kgen_compile::Error::NotFound { .. } => {
                Some("`kgen setup` installs it; `kgen doctor` says what works on this machine")
            }
            kgen_compile::Error::NotThere { .. } | kgen_compile::Error::TooNew { .. } => {
                Some("without --nvrtc, KGEN_NVRTC and `nvrtc.path` kgen looks for one itself")
            }
            kgen_compile::Error::Offline { package: CUTLASS }
            | kgen_compile::Error::NoPip { package: CUTLASS, .. }
            | kgen_compile::Error::Pip { package: CUTLASS, .. } => Some(
                "`kgen setup --cutlass` installs the headers where there is a network; without \
                 --cutlass kernels do without them",
            ),
            kgen_compile::Error::Offline { .. } => {
                Some("name an NVRTC with --nvrtc or KGEN_NVRTC, or allow the download")
            }
            kgen_compile::Error::NoPip { .. } | kgen_compile::Error::Pip { .. } => {
                Some("install CUDA's NVRTC another way and name it with --nvrtc or KGEN_NVRTC")
            }
            kgen_compile::Error::CutlassVersion { .. } => Some(
                "name an NVRTC of 12.8 to 13.1 with --nvrtc or KGEN_NVRTC, or leave out --cutlass",
            ),
            kgen_compile::Error::NoCutlass => Some("`kgen setup --cutlass` installs them"),
            kgen_compile::Error::NoCache { .. }
            | kgen_compile::Error::Load { .. }
            | kgen_compile::Error::Nvrtc { .. }
            | kgen_compile::Error::Nul
            | kgen_compile::Error::File { .. } => None,
        };
        Self::new(Exit::Device, error).maybe_hint(hint.map(str::to_owned))
    }
}

impl From<kgen_device::Error> for CommandError {
    fn from(error: kgen_device::Error) -> Self {
        Self::new(Exit::Device, error)
            .hint("`kgen list devices` shows the devices; --device emu works everywhere")
    }
}

impl From<kgen_worker::Error> for CommandError {
    fn from(error: kgen_worker::Error) -> Self {
        match error {
            kgen_worker::Error::Op { .. } => Self::new(Exit::Config, error),
            error => {
                Self::new(Exit::Device, error).hint("`kgen doctor` says what works on this machine")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kgen_measure::Fingerprint;
    use kgen_record::Session;

    #[test]
    fn company_on_a_gpu_is_one_line() {
        let gpu = |n_foreign_processes| {
            let fingerprint = Fingerprint { n_foreign_processes, ..Fingerprint::default() };
            let session = Some(Box::new(Session { fingerprint, ..Session::default() }));
            Gpu { index: 1, target: Some(Target::h100_class()), session, sandbox: None }
        };
        let name = Target::h100_class().name;
        let two = company(&gpu(Some(2))).unwrap();
        let expected = format!("cuda:1 ({name}) is used by 2 other processes: times may suffer");
        assert!(two.starts_with(&expected) && !two.contains('\n'), "{two}");
        assert!(company(&gpu(Some(1))).unwrap().contains("is used by another process: "));
        assert_eq!((company(&gpu(Some(0))), company(&gpu(None))), (None, None));
    }
}
