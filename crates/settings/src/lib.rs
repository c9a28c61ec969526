//! Settings: defaults < config file < environment < flags, resolved once into plain structs.
//!
//! `config.toml` at the root of the project holds the defaults with their comments; it is embedded
//! and is the reference. Everything below takes the struct of its section and never looks up a
//! setting itself.

mod device;
pub mod env;
pub mod experiment;
pub mod keys;
mod named;
mod resolve;
mod search;
pub mod slurm;
#[cfg(test)]
mod tests;
mod unknown;

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

pub use device::{DeviceChoice, GpuSet, UnknownDeviceError};
pub use resolve::{DEFAULTS, Error, Overrides, Resolved, resolve, resolve_with};
pub use search::{
    BudgetSettings, Effort, FeedbackSettings, LlmCache, ModelSettings, PriceSettings,
    SearchSettings,
};

use kgen_record::{DType, Emulation, L2, Limits, Precision, Profile, Sanitize, Target};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The run as a whole.
    pub run: RunSettings,
    /// How attempts at an op are arranged.
    pub search: SearchSettings,
    pub feedback: FeedbackSettings,
    pub budget: BudgetSettings,
    /// Where replies come from.
    pub llm: LlmSettings,
    /// Further providers by name.
    #[serde(default)]
    pub providers: BTreeMap<String, ProviderSettings>,
    #[serde(default)]
    pub models: BTreeMap<String, ModelSettings>,
    pub device: DeviceSettings,
    pub suite: SuiteSettings,
    /// Limits of one evaluation.
    pub limits: LimitSettings,
    /// How correct kernels are timed.
    pub timing: TimingSettings,
    pub nvrtc: NvrtcSettings,
    pub python: InterpreterSettings,
    pub adapters: AdapterSettings,
    pub prompts: PromptSettings,
}

/// Section `run`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// Folder of the runs.
    pub output_dir: PathBuf,
    /// Attempts at one op at most, at least 1.
    pub max_attempts: u32,
    /// Speedup at which a correct kernel is good enough.
    pub target_speedup: f64,
    /// Seed; `None` takes one from the system.
    pub seed: Option<u64>,
    /// Ops worked on at once, at least 1.
    pub max_concurrent_ops: usize,
    /// Whether a replay takes the recorded evaluations.
    pub reuse_evals: bool,
    /// Folder of the backend `pregenerated`; `None` takes the latest run, else the bundled kernels.
    pub kernels_dir: Option<PathBuf>,
}

/// Section `llm`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlmSettings {
    /// Name of a provider, or `auto`.
    pub provider: String,
    /// Model; `None` takes the provider's.
    pub model: Option<String>,
    /// Base URL; `None` takes the provider's.
    pub base_url: Option<String>,
    /// Variable of the key; `None` takes the provider's.
    pub key_env: Option<String>,
    /// Tokens of one reply at most.
    pub max_tokens: u32,
    /// Temperature; `None` sends none.
    pub temperature: Option<f64>,
    /// How hard a model is to think; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// `adaptive`, `off` or a number of tokens; `None` leaves it to the provider.
    pub thinking: Option<String>,
    /// Whether the provider is asked to cache the beginning of prompts.
    pub prompt_cache: bool,
    /// Whether replies are kept for, or taken from, equal requests of other runs.
    pub cache: LlmCache,
    /// Folder of kept replies; `None` is one in the user's cache folder.
    pub cache_dir: Option<PathBuf>,
    /// Requests per minute at most; `None` goes by the provider's headers.
    pub requests_per_minute: Option<u32>,
    /// Tokens per minute at most; `None` goes by the provider's headers.
    pub tokens_per_minute: Option<u64>,
    /// Calls open at once, at least 1.
    pub concurrency: usize,
    /// Seconds until a connection must stand.
    pub connect_timeout_s: f64,
    /// Seconds without a byte.
    pub idle_timeout_s: f64,
    /// Seconds of one call in all.
    pub total_timeout_s: f64,
    /// Seconds that a provider is waited for at most: until it takes requests again, and until it can be
    /// reached again.
    pub max_wait_s: f64,
    /// Repetitions after a passing failure.
    pub retries: u32,
    /// Run that `replay` reads: a run ID or a path.
    pub replay: Option<String>,
    /// Seconds that `mailbox` waits; 0 does not wait.
    pub mailbox_wait_s: f64,
}

/// A table `providers.NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderSettings {
    /// Name of its wire format, or `command` for a program that gets the prompt on stdin.
    pub kind: String,
    pub base_url: Option<String>,
    /// Variable of the key.
    pub key_env: Option<String>,
    pub model: Option<String>,
    /// Version of the API, where the wire format has one.
    pub version: Option<String>,
    /// Program and arguments of the kind `command`.
    pub command: Option<Vec<String>>,
    /// JSON pointer to the reply in the output of the kind `command`; without it all of it.
    pub reply_pointer: Option<String>,
    /// File in the folder of the kind `command` that it writes its reply to.
    pub reply_file: Option<String>,
    /// JSON pointer to its tokens in the output of the kind `command`.
    pub usage_pointer: Option<String>,
    /// JSON pointer to its cost in US dollars in the output of the kind `command`.
    pub cost_pointer: Option<String>,
    /// Fields merged into every request body.
    #[serde(default)]
    pub extra_body: serde_json::Map<String, serde_json::Value>,
    /// Fields left out of every request body, for models that refuse them.
    #[serde(default)]
    pub drop: Vec<String>,
    /// Whether replies are streamed; they are by default.
    pub stream: Option<bool>,
}

/// Section `device`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceSettings {
    /// The device asked for.
    pub device: DeviceChoice,
    /// Workers that compile and emulate; 0 is one per core.
    pub jobs: usize,
    /// Whether small cases run on the emulator first.
    pub screen: bool,
    pub sanitize: Sanitize,
    /// Whether the emulator counts the work of every launch.
    pub counters: bool,
    /// Whether profilers run right kernels again.
    pub profile: bool,
    /// Whether workers and Python processes are kept from the rest of the machine.
    #[serde(default = "on")]
    pub sandbox: bool,
    /// Commands that start workers on other machines; empty starts all of them here.
    #[serde(default)]
    pub launch: Vec<String>,
    /// Workers that each of the commands starts, at least 1.
    #[serde(default = "one")]
    pub launch_workers: usize,
    /// Seconds that a launched worker may take to be ready.
    #[serde(default = "launch_wait_s")]
    pub launch_wait_s: f64,
    /// The device that the emulator pretends to be.
    pub emu: EmuTarget,
}

impl DeviceSettings {
    /// Returns how closely the emulator looks.
    #[must_use]
    pub const fn emulation(&self) -> Emulation {
        Emulation { sanitize: self.sanitize, counters: self.counters }
    }

    /// Returns these settings with the workers of `here`: how many there are, and where, is the affair of whoever
    /// goes on.
    #[must_use]
    pub fn with_workers_of(self, here: &Self) -> Self {
        Self {
            jobs: here.jobs,
            launch: here.launch.clone(),
            launch_workers: here.launch_workers,
            launch_wait_s: here.launch_wait_s,
            ..self
        }
    }

    /// Returns the number of workers that compile and emulate, at least 1.
    #[must_use]
    pub fn n_jobs(&self) -> usize {
        // More than 8 per GPU by default would only wait for the GPU or the LLM.
        let enough = 8 * self.device.n_gpus().max(1);
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get().min(enough));
        if self.jobs == 0 { cores() } else { self.jobs }
    }
}

/// Table `device.emu`: the facts that a kernel's plan sees on the emulator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmuTarget {
    pub name: String,
    /// Architecture, for example `sm_90a`.
    pub arch: String,
    pub sm_count: u32,
    /// Largest shared memory of a block, in bytes.
    pub smem_max: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    pub memory_bytes: u64,
}

impl EmuTarget {
    /// Returns the target; the compute capability is read from `arch` (`sm_90a` is 9.0).
    #[must_use]
    pub fn target(&self) -> Target {
        let digits: String = self.arch.chars().filter(char::is_ascii_digit).collect();
        let capability: u32 = digits.parse().unwrap_or(90);
        Target {
            name: self.name.clone(),
            arch: self.arch.clone(),
            cc_major: capability / 10,
            cc_minor: capability % 10,
            sm_count: self.sm_count,
            smem_max: self.smem_max,
            l2_bytes: self.l2_bytes,
            memory_bytes: self.memory_bytes,
            peak_bandwidth: None,
            uuid: None,
            driver_version: None,
        }
    }
}

/// Section `suite`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteSettings {
    pub suite: String,
    /// Ops to take; empty is all.
    pub ops: Vec<String>,
    /// Element types to take; empty is all.
    pub dtypes: Vec<DType>,
    pub precision: Precision,
    /// Whether plans may call libraries.
    #[serde(default)]
    pub libraries: bool,
    /// Whether kernels may include headers of CUTLASS.
    #[serde(default)]
    pub cutlass: bool,
    /// Timed cases of each op to take, the largest; `None` is all.
    pub topn: Option<usize>,
    /// Bytes of inputs and outputs that a case may have; `None` is no limit.
    pub max_bytes: Option<u64>,
    /// Whether the right part of a wrong suite is worked on.
    pub keep_going: bool,
    /// The file of an op of one's own.
    pub op_file: Option<PathBuf>,
}

/// The value of a setting that stored settings may lack.
const fn on() -> bool {
    true
}

/// As [`on`].
const fn one() -> usize {
    1
}

/// As [`on`].
const fn launch_wait_s() -> f64 {
    600.0
}

/// Section `limits`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitSettings {
    /// Lane instructions of one case on the emulator.
    pub emu_lane_instructions: u64,
    /// Bytes of buffers of one case on the emulator.
    pub emu_bytes: u64,
    /// Seconds of a compile.
    pub compile_s: f64,
    /// Seconds of one case on a device.
    pub case_s: f64,
    /// Compile variants per element type.
    pub max_variants: u32,
    /// Data sets of a full-size case.
    pub data_sets: u32,
}

impl From<LimitSettings> for Limits {
    fn from(limits: LimitSettings) -> Self {
        let LimitSettings {
            emu_lane_instructions,
            emu_bytes,
            compile_s,
            case_s,
            max_variants,
            data_sets,
        } = limits;
        let own = Self::default();
        Self { emu_lane_instructions, emu_bytes, compile_s, case_s, max_variants, data_sets, ..own }
    }
}

/// Section `timing`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimingSettings {
    /// Whether correct kernels are timed.
    pub enabled: bool,
    /// How many samples are taken, and when there are enough.
    pub profile: Profile,
    pub l2: L2,
    /// Whether cases that a launch's overhead dominates are timed inside CUDA graphs.
    pub graph: bool,
    /// Whether kernels are timed once more as Triton's `do_bench` does.
    pub do_bench: bool,
    /// The baselines, the primary one first.
    pub baselines: Vec<String>,
    /// Seconds per case and baseline at most; `None` takes the profile's.
    pub max_s: Option<f64>,
}

/// Section `nvrtc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvrtcSettings {
    /// The library or its folder; `None` searches.
    pub path: Option<PathBuf>,
    /// Whether downloads are forbidden.
    pub offline: bool,
    /// Folder for downloads and compiled code; `None` is the user's cache folder.
    pub cache_dir: Option<PathBuf>,
}

impl NvrtcSettings {
    /// Returns the cache folder; `None` where there is no home folder either.
    #[must_use]
    pub fn cache(&self) -> Option<PathBuf> {
        self.cache_dir.clone().or_else(env::cache_home)
    }
}

/// Section `python`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterpreterSettings {
    /// The interpreter; `None` searches for one that has PyTorch.
    pub path: Option<PathBuf>,
}

/// Section `adapters`: programs; those that are left out are looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterSettings {
    pub candle: Option<PathBuf>,
    pub burn: Option<PathBuf>,
}

/// Section `prompts`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptSettings {
    /// Folder of templates; `None` takes those in the binary.
    pub dir: Option<PathBuf>,
}
