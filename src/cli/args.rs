//! Flags, in groups that the commands share; they hold the typed values and resolve nothing.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use kgen_record::FeedbackKind;
use kgen_settings::Overrides;

use super::ui::{Format, Verbosity};

/// Flags of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Read this config file instead of ./config.toml or the user's
    #[arg(long, global = true, value_name = "FILE", help_heading = "Global options")]
    pub(crate) config: Option<PathBuf>,
    /// Say more; twice for debugging
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = "Global options")]
    pub(crate) verbose: u8,
    /// Print tables with all columns, wider than the terminal
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) wide: bool,
    /// Print nothing but data and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub(crate) quiet: bool,
}

impl GlobalArgs {
    /// Returns how talkative kgen is asked to be.
    #[must_use]
    pub(crate) fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, 0) => Verbosity::Normal,
            (false, _) => Verbosity::Verbose,
        }
    }
}

/// How a table is printed.
#[derive(Debug, Args)]
pub(crate) struct FormatArgs {
    /// Print text for people or a JSON document
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// Which ops, cases and types.
#[derive(Debug, Args, Default)]
pub(crate) struct SuiteArgs {
    /// Suite: a name, or the path of a suite file, a log, or a folder of logs
    #[arg(long, value_name = "SUITE", help_heading = "Selection")]
    pub(crate) suite: Option<String>,
    /// Element types to take, for example f32,bf16
    #[arg(
        long,
        visible_alias = "dtype",
        value_name = "DTYPES",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    pub(crate) dtypes: Option<Vec<String>>,
    /// Timed cases of each op to take: the N largest
    #[arg(long, value_name = "N", help_heading = "Selection")]
    pub(crate) topn: Option<i64>,
    /// Leave out cases whose inputs and outputs are larger, for example 64MiB
    #[arg(long, value_name = "BYTES", help_heading = "Selection")]
    pub(crate) max_bytes: Option<String>,
    /// Work on the valid entries of a suite that has mistakes
    #[arg(long, help_heading = "Selection")]
    pub(crate) keep_going: bool,
    /// File of an op of your own, in place of a suite
    #[arg(long, value_name = "FILE.toml", help_heading = "Selection")]
    pub(crate) op_file: Option<String>,
    /// Arithmetic that a kernel may use beyond f32 rounded once
    #[arg(
        long,
        value_name = "strict|eager|torch_default|tf32|low|fast_math_ok",
        help_heading = "Selection"
    )]
    pub(crate) precision: Option<String>,
    /// Let plans call NVIDIA's libraries for matrix products and convolutions
    #[arg(long, help_heading = "Selection")]
    pub(crate) libraries: bool,
    /// Let kernels include the device headers of CUTLASS and CuTe, which are installed with pip
    #[arg(long, help_heading = "Selection")]
    pub(crate) cutlass: bool,
}

impl SuiteArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("suite.suite", self.suite.clone());
        flags.set("suite.dtypes", self.dtypes.clone());
        flags.set("suite.topn", self.topn);
        flags.set("suite.max_bytes", self.max_bytes.clone());
        flags.set("suite.keep_going", self.keep_going.then_some(true));
        flags.set("suite.op_file", self.op_file.clone());
        flags.set("suite.precision", self.precision.clone());
        flags.set("suite.libraries", self.libraries.then_some(true));
        flags.set("suite.cutlass", self.cutlass.then_some(true));
    }
}

/// Which ops.
#[derive(Debug, Args, Default)]
pub(crate) struct OpsArgs {
    /// Ops of the suite to take, by any of their names, for example relu,aten.add.Tensor
    #[arg(long, value_name = "OPS", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) ops: Option<Vec<String>>,
}

impl OpsArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("suite.ops", self.ops.clone());
    }
}

/// Which NVRTC.
#[derive(Debug, Args, Default)]
pub(crate) struct NvrtcArgs {
    /// NVRTC library, or the folder it is in
    #[arg(long, value_name = "PATH", help_heading = "Device")]
    pub(crate) nvrtc: Option<String>,
    /// Never download anything
    #[arg(long, help_heading = "Device")]
    pub(crate) offline: bool,
}

impl NvrtcArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("nvrtc.path", self.nvrtc.clone());
        flags.set("nvrtc.offline", self.offline.then_some(true));
    }
}

/// How thoroughly, and in which state of the GPU, something is timed.
#[derive(Debug, Args, Default)]
pub(crate) struct ClockArgs {
    /// Do not time correct kernels
    #[arg(long, help_heading = "Timing")]
    pub(crate) no_timing: bool,
    /// How thoroughly to time; final measures kernels three times, each in a fresh process
    #[arg(
        long,
        value_name = "screen|standard|final",
        conflicts_with = "no_timing",
        help_heading = "Timing"
    )]
    pub(crate) timing: Option<String>,
    /// State of the L2 cache when a sample begins
    #[arg(long, value_name = "cold|hot", help_heading = "Timing")]
    pub(crate) l2: Option<String>,
    /// Time cases that launch overhead dominates inside CUDA graphs
    #[arg(long, help_heading = "Timing")]
    pub(crate) graph: bool,
}

impl ClockArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("timing.enabled", self.no_timing.then_some(false));
        flags.set("timing.profile", self.timing.clone());
        flags.set("timing.l2", self.l2.clone());
        flags.set("timing.graph", self.graph.then_some(true));
    }
}

/// How correct kernels are timed, and against which others.
#[derive(Debug, Args, Default)]
pub(crate) struct TimingArgs {
    /// How they are timed.
    #[command(flatten)]
    pub(crate) clock: ClockArgs,
    /// Baselines to time against, the one that decides speedup first, for example aten,builtin
    #[arg(long, value_name = "BASELINES", value_delimiter = ',', help_heading = "Timing")]
    pub(crate) baseline: Option<Vec<String>>,
    /// Time once more as another harness does, for numbers comparable with its own
    #[arg(long, value_name = "do_bench", value_parser = ["do_bench"], help_heading = "Timing")]
    pub(crate) compat: Option<String>,
}

impl TimingArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        self.clock.add_to(flags);
        flags.set("timing.baselines", self.baseline.clone());
        flags.set("timing.do_bench", self.compat.as_ref().map(|_| true));
    }
}

/// Which Python.
#[derive(Debug, Args, Default)]
pub(crate) struct PythonArgs {
    /// Python that has PyTorch, for baselines and backends such as aten
    #[arg(long, value_name = "PATH", help_heading = "Device")]
    pub(crate) python: Option<String>,
}

impl PythonArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("python.path", self.python.clone());
    }
}

/// Workers on other machines.
#[derive(Debug, Args, Default)]
pub(crate) struct LaunchArgs {
    /// Start workers by this command, for example "srun -N1 -G1" or "ssh node7"; may be repeated
    #[arg(long, value_name = "PREFIX", help_heading = "Device")]
    pub(crate) launch: Option<Vec<String>>,
    /// Workers that each --launch starts
    #[arg(long, value_name = "N", help_heading = "Device")]
    pub(crate) launch_workers: Option<i64>,
    /// Seconds that a launched worker may take to be ready, those in a queue of jobs among them
    #[arg(long, value_name = "SECONDS", help_heading = "Device")]
    pub(crate) launch_wait: Option<f64>,
}

impl LaunchArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("device.launch", self.launch.clone());
        flags.set("device.launch_workers", self.launch_workers);
        flags.set("device.launch_wait_s", self.launch_wait);
    }
}

/// Where kernels are judged.
#[derive(Debug, Args, Default)]
pub(crate) struct MachineArgs {
    /// Device: auto, emu, cuda:N, several as cuda:0,cuda:1, or cuda for all GPUs
    #[arg(long, value_name = "DEVICE", help_heading = "Device")]
    pub(crate) device: Option<String>,
    /// Workers that compile and emulate; 0 is one per core
    #[arg(long, value_name = "N", help_heading = "Device")]
    pub(crate) jobs: Option<i64>,
    /// Do not run small cases on the emulator before a GPU
    #[arg(long, help_heading = "Device")]
    pub(crate) no_screen: bool,
    /// Checks of the emulator: full, memory or bounds
    #[arg(long, value_name = "CHECKS", help_heading = "Device")]
    pub(crate) sanitize: Option<String>,
    /// Data sets that a full-size case (1 Mi elements or more) is judged on
    #[arg(long, value_name = "N", help_heading = "Device")]
    pub(crate) seeds: Option<i64>,
    /// Do not keep workers from the rest of the machine; every result says so
    #[arg(long, help_heading = "Device")]
    pub(crate) no_sandbox: bool,
    /// Workers on other machines.
    #[command(flatten)]
    pub(crate) launch: LaunchArgs,
    /// Which NVRTC.
    #[command(flatten)]
    pub(crate) nvrtc: NvrtcArgs,
    /// Which Python.
    #[command(flatten)]
    pub(crate) python: PythonArgs,
}

impl MachineArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("device.device", self.device.clone());
        flags.set("device.jobs", self.jobs);
        flags.set("device.screen", self.no_screen.then_some(false));
        flags.set("device.sanitize", self.sanitize.clone());
        flags.set("limits.data_sets", self.seeds);
        flags.set("device.sandbox", self.no_sandbox.then_some(false));
        self.launch.add_to(flags);
        self.nvrtc.add_to(flags);
        self.python.add_to(flags);
    }
}

/// Where and how kernels are judged and timed.
#[derive(Debug, Args, Default)]
pub(crate) struct DeviceArgs {
    /// Where they are judged.
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// How correct kernels are timed.
    #[command(flatten)]
    pub(crate) timing: TimingArgs,
}

impl DeviceArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        self.machine.add_to(flags);
        self.timing.add_to(flags);
    }
}

/// Where runs are.
#[derive(Debug, Args, Default)]
pub(crate) struct OutputArgs {
    /// Folder of the runs
    #[arg(long, value_name = "DIR", help_heading = "Run")]
    pub(crate) output_dir: Option<String>,
}

impl OutputArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("run.output_dir", self.output_dir.clone());
    }
}

/// A new run.
#[derive(Debug, Args, Default)]
pub(crate) struct RunArgs {
    /// Name of the run; the date and time without it
    #[arg(long, value_name = "ID", help_heading = "Run")]
    pub(crate) run_id: Option<String>,
    /// Where the run goes.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Seed of the inputs and the drawn shapes
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) seed: Option<i64>,
    /// Ops to work on at once
    #[arg(long, value_name = "N", help_heading = "Run")]
    pub(crate) max_concurrent_ops: Option<i64>,
}

impl RunArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        self.output.add_to(flags);
        flags.set("run.seed", self.seed);
        flags.set("run.max_concurrent_ops", self.max_concurrent_ops);
    }
}

/// The arrangement of attempts at an op, and the feedback for models.
#[derive(Debug, Args, Default)]
pub(crate) struct SearchArgs {
    /// How attempts at an op are arranged
    #[arg(long, value_name = "repair|best-of|beam", help_heading = "Loop")]
    pub(crate) strategy: Option<String>,
    /// Candidates that best-of begins with
    #[arg(long, value_name = "N", help_heading = "Loop")]
    pub(crate) samples: Option<i64>,
    /// Branches of beam
    #[arg(long, value_name = "N", help_heading = "Loop")]
    pub(crate) width: Option<i64>,
    /// Rounds of beam
    #[arg(long, value_name = "N", help_heading = "Loop")]
    pub(crate) depth: Option<i64>,
    /// Have a first call name one bottleneck and one change, and a second write the code
    #[arg(long, help_heading = "Loop")]
    pub(crate) planner: bool,
    #[arg(long, value_name = "KINDS", value_delimiter = ',', help_heading = "Loop", help = feedback())]
    pub(crate) feedback: Option<Vec<String>>,
    /// Tokens that a prompt may have; details beyond are left out, the oldest first
    #[arg(long, value_name = "N", help_heading = "Loop")]
    pub(crate) prompt_tokens: Option<i64>,
}

/// Returns the help of `--feedback`, which names all kinds.
fn feedback() -> String {
    let [kinds @ .., last] = FeedbackKind::ALL.map(FeedbackKind::name);
    format!("Feedback for models: all, none or a list of {} and {last}", kinds.join(", "))
}

impl SearchArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("search.strategy", self.strategy.clone());
        flags.set("search.samples", self.samples);
        flags.set("search.width", self.width);
        flags.set("search.depth", self.depth);
        flags.set("search.planner", self.planner.then_some(true));
        flags.set("feedback.kinds", self.feedback.clone());
        flags.set("feedback.prompt_tokens", self.prompt_tokens);
    }
}

/// Limits of spending; a run that reaches a cap stops and can be resumed.
#[derive(Debug, Args, Default)]
pub(crate) struct BudgetArgs {
    /// US dollars that the run may cost
    #[arg(long, value_name = "USD", help_heading = "Budget")]
    pub(crate) max_cost: Option<f64>,
    /// Input and output tokens that the run may take
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub(crate) max_total_tokens: Option<i64>,
    /// LLM calls that the run may make
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub(crate) max_calls: Option<i64>,
    /// Time that the run may take, for example 90m or 2h
    #[arg(long, value_name = "TIME", help_heading = "Budget")]
    pub(crate) max_time: Option<String>,
    /// US dollars that each op may cost
    #[arg(long, value_name = "USD", help_heading = "Budget")]
    pub(crate) max_cost_per_op: Option<f64>,
    /// Input and output tokens that each op may take
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub(crate) max_tokens_per_op: Option<i64>,
    /// LLM calls that each op may take
    #[arg(long, value_name = "N", help_heading = "Budget")]
    pub(crate) max_calls_per_op: Option<i64>,
    /// Time that each op may take
    #[arg(long, value_name = "TIME", help_heading = "Budget")]
    pub(crate) max_time_per_op: Option<String>,
}

impl BudgetArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("budget.usd", self.max_cost);
        flags.set("budget.tokens", self.max_total_tokens);
        flags.set("budget.calls", self.max_calls);
        flags.set("budget.seconds", self.max_time.clone());
        flags.set("budget.op_usd", self.max_cost_per_op);
        flags.set("budget.op_tokens", self.max_tokens_per_op);
        flags.set("budget.op_calls", self.max_calls_per_op);
        flags.set("budget.op_seconds", self.max_time_per_op.clone());
    }
}

/// The loop and its limits.
#[derive(Debug, Args, Default)]
pub(crate) struct LoopArgs {
    /// Attempts at one op at most
    #[arg(long, visible_alias = "llm-max-attempts", value_name = "N", help_heading = "Loop")]
    pub(crate) max_attempts: Option<i64>,
    /// Speedup at which a correct kernel is good enough
    #[arg(long, value_name = "X", help_heading = "Loop")]
    pub(crate) target_speedup: Option<f64>,
    /// Folder of prompt templates that replace kgen's own
    #[arg(long, value_name = "DIR", help_heading = "Loop")]
    pub(crate) prompts_dir: Option<String>,
    /// The arrangement of attempts, and the feedback for models.
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// Limits of spending.
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
}

impl LoopArgs {
    /// Adds the given flags.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        flags.set("run.max_attempts", self.max_attempts);
        flags.set("run.target_speedup", self.target_speedup);
        self.search.add_to(flags);
        self.budget.add_to(flags);
        flags.set("prompts.dir", self.prompts_dir.clone());
    }
}

/// Where replies come from.
#[derive(Debug, Args, Default)]
pub(crate) struct LlmArgs {
    /// Provider: anthropic, openai, mailbox, replay, ... or one of the config file
    #[arg(long, value_name = "NAME", help_heading = "LLM")]
    pub(crate) provider: Option<String>,
    /// Model, as the provider names it
    #[arg(long, value_name = "MODEL", help_heading = "LLM")]
    pub(crate) llm_model: Option<String>,
    /// Base URL of the provider's API
    #[arg(long, value_name = "URL", help_heading = "LLM")]
    pub(crate) base_url: Option<String>,
    /// Seconds that a provider is waited for at most
    #[arg(long, value_name = "SECONDS", help_heading = "LLM", allow_negative_numbers = true)]
    pub(crate) max_wait: Option<f64>,
    /// Run whose replies are replayed: a run ID, `latest`, or a path
    #[arg(long, value_name = "RUN", help_heading = "LLM")]
    pub(crate) replay: Option<String>,
    /// Take the recorded evaluations too when replaying
    #[arg(long, help_heading = "LLM")]
    pub(crate) reuse_evals: bool,
    /// How hard the model is to think
    #[arg(long, value_name = "none|minimal|low|medium|high|xhigh|max", help_heading = "LLM")]
    pub(crate) effort: Option<String>,
    /// How the model is to think: adaptive, off or a number of tokens
    #[arg(long, value_name = "HOW", help_heading = "LLM")]
    pub(crate) thinking: Option<String>,
    /// Keep replies for, and take them from, equal requests of other runs
    #[arg(long, value_name = "off|record|auto|only", help_heading = "LLM")]
    pub(crate) llm_cache: Option<String>,
    /// Seconds to wait for a reply file of the mailbox
    #[arg(long, value_name = "SECONDS", help_heading = "LLM")]
    pub(crate) mailbox_wait: Option<f64>,
}

impl LlmArgs {
    /// Adds the given flags; `--replay` alone asks for the provider `replay`.
    pub(crate) fn add_to(&self, flags: &mut Overrides) {
        let replay = self.replay.as_ref().map(|_| "replay".to_owned());
        flags.set("llm.provider", self.provider.clone().or(replay));
        flags.set("llm.model", self.llm_model.clone());
        flags.set("llm.base_url", self.base_url.clone());
        flags.set("llm.max_wait_s", self.max_wait);
        flags.set("llm.replay", self.replay.clone());
        flags.set("run.reuse_evals", self.reuse_evals.then_some(true));
        flags.set("llm.effort", self.effort.clone());
        flags.set("llm.thinking", self.thinking.clone());
        flags.set("llm.cache", self.llm_cache.clone());
        flags.set("llm.mailbox_wait_s", self.mailbox_wait);
    }
}
