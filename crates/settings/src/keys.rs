//! The settings by name: how each is written in a file, the environment and on the command line.

use std::time::Duration;

use jiff::SpanRelativeTo;
use kgen_record::{DType, FeedbackKind, FeedbackSet};

use super::{DeviceChoice, Effort};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Section and name, for example `run.max_attempts`.
    pub path: &'static str,
    pub env: &'static str,
    /// Its long flag without the dashes; `None` where there is none.
    pub flag: Option<&'static str>,
    pub kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text that is not empty.
    Text,
    /// A path; relative to the config file where it is in one.
    Path,
    /// The name of a suite, or the path of a file if it has a `/` or ends in `.toml`.
    NameOrPath,
    /// A run ID, or the path of a run if it has a `/`.
    Run,
    /// An integer of at least this.
    Int(i64),
    /// A number above 0.
    Positive,
    /// A number of at least 0.
    Number,
    /// A time above 0 in seconds, perhaps with a unit: `90m`, `2h`.
    Seconds,
    Bool,
    /// A list of texts; separated by commas outside a file.
    List,
    /// A list of element types.
    DTypes,
    /// A list of kinds of feedback, `all` or `none`.
    Feedback,
    /// A number of bytes, perhaps with a unit: `64MiB`.
    Bytes,
    /// `auto`, `emu`, `cuda` or a list of `cuda:N`.
    Device,
    /// `adaptive`, `off` or a number of tokens.
    Thinking,
    /// A GPU architecture of NVRTC: `sm_90a`.
    Arch,
    /// A table of anything.
    Table,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

const fn key(path: &'static str, env: &'static str, kind: Kind) -> Key {
    Key { path, env, flag: None, kind }
}

const fn flag(path: &'static str, env: &'static str, flag: &'static str, kind: Kind) -> Key {
    Key { path, env, flag: Some(flag), kind }
}

/// All settings but the tables of further providers.
pub const KEYS: &[Key] = &[
    flag("run.output_dir", "KGEN_RUN_OUTPUT_DIR", "output-dir", Kind::Path),
    flag("run.max_attempts", "KGEN_RUN_MAX_ATTEMPTS", "max-attempts", Kind::Int(1)),
    flag("run.target_speedup", "KGEN_RUN_TARGET_SPEEDUP", "target-speedup", Kind::Number),
    flag("run.seed", "KGEN_RUN_SEED", "seed", Kind::Int(0)),
    flag(
        "run.max_concurrent_ops",
        "KGEN_RUN_MAX_CONCURRENT_OPS",
        "max-concurrent-ops",
        Kind::Int(1),
    ),
    flag("run.reuse_evals", "KGEN_RUN_REUSE_EVALS", "reuse-evals", Kind::Bool),
    flag("run.kernels_dir", "KGEN_RUN_KERNELS_DIR", "kernels-dir", Kind::Path),
    flag(
        "search.strategy",
        "KGEN_SEARCH_STRATEGY",
        "strategy",
        Kind::OneOf(&["repair", "best-of", "beam"]),
    ),
    flag("search.samples", "KGEN_SEARCH_SAMPLES", "samples", Kind::Int(1)),
    flag("search.width", "KGEN_SEARCH_WIDTH", "width", Kind::Int(1)),
    flag("search.depth", "KGEN_SEARCH_DEPTH", "depth", Kind::Int(1)),
    flag("search.planner", "KGEN_SEARCH_PLANNER", "planner", Kind::Bool),
    flag("feedback.kinds", "KGEN_FEEDBACK_KINDS", "feedback", Kind::Feedback),
    flag("feedback.prompt_tokens", "KGEN_FEEDBACK_PROMPT_TOKENS", "prompt-tokens", Kind::Int(1)),
    flag("budget.usd", "KGEN_BUDGET_USD", "max-cost", Kind::Positive),
    flag("budget.tokens", "KGEN_BUDGET_TOKENS", "max-total-tokens", Kind::Int(1)),
    flag("budget.calls", "KGEN_BUDGET_CALLS", "max-calls", Kind::Int(1)),
    flag("budget.seconds", "KGEN_BUDGET_SECONDS", "max-time", Kind::Seconds),
    flag("budget.op_usd", "KGEN_BUDGET_OP_USD", "max-cost-per-op", Kind::Positive),
    flag("budget.op_tokens", "KGEN_BUDGET_OP_TOKENS", "max-tokens-per-op", Kind::Int(1)),
    flag("budget.op_calls", "KGEN_BUDGET_OP_CALLS", "max-calls-per-op", Kind::Int(1)),
    flag("budget.op_seconds", "KGEN_BUDGET_OP_SECONDS", "max-time-per-op", Kind::Seconds),
    flag("llm.provider", "KGEN_LLM_PROVIDER", "provider", Kind::Text),
    flag("llm.model", "KGEN_LLM_MODEL", "llm-model", Kind::Text),
    flag("llm.base_url", "KGEN_LLM_BASE_URL", "base-url", Kind::Text),
    key("llm.key_env", "KGEN_LLM_KEY_ENV", Kind::Text),
    key("llm.max_tokens", "KGEN_LLM_MAX_TOKENS", Kind::Int(1)),
    key("llm.temperature", "KGEN_LLM_TEMPERATURE", Kind::Number),
    flag("llm.effort", "KGEN_LLM_EFFORT", "effort", Kind::OneOf(Effort::NAMES)),
    flag("llm.thinking", "KGEN_LLM_THINKING", "thinking", Kind::Thinking),
    key("llm.prompt_cache", "KGEN_LLM_PROMPT_CACHE", Kind::Bool),
    flag(
        "llm.cache",
        "KGEN_LLM_CACHE",
        "llm-cache",
        Kind::OneOf(&["off", "record", "auto", "only"]),
    ),
    key("llm.cache_dir", "KGEN_LLM_CACHE_DIR", Kind::Path),
    key("llm.requests_per_minute", "KGEN_LLM_REQUESTS_PER_MINUTE", Kind::Int(1)),
    key("llm.tokens_per_minute", "KGEN_LLM_TOKENS_PER_MINUTE", Kind::Int(1)),
    key("llm.concurrency", "KGEN_LLM_CONCURRENCY", Kind::Int(1)),
    key("llm.connect_timeout_s", "KGEN_LLM_CONNECT_TIMEOUT_S", Kind::Positive),
    key("llm.idle_timeout_s", "KGEN_LLM_IDLE_TIMEOUT_S", Kind::Positive),
    key("llm.total_timeout_s", "KGEN_LLM_TOTAL_TIMEOUT_S", Kind::Positive),
    flag("llm.max_wait_s", "KGEN_LLM_MAX_WAIT_S", "max-wait", Kind::Positive),
    key("llm.retries", "KGEN_LLM_RETRIES", Kind::Int(0)),
    flag("llm.replay", "KGEN_LLM_REPLAY", "replay", Kind::Run),
    flag("llm.mailbox_wait_s", "KGEN_LLM_MAILBOX_WAIT_S", "mailbox-wait", Kind::Number),
    flag("device.device", "KGEN_DEVICE_DEVICE", "device", Kind::Device),
    flag("device.jobs", "KGEN_DEVICE_JOBS", "jobs", Kind::Int(0)),
    flag("device.screen", "KGEN_DEVICE_SCREEN", "no-screen", Kind::Bool),
    flag(
        "device.sanitize",
        "KGEN_DEVICE_SANITIZE",
        "sanitize",
        Kind::OneOf(&["full", "memory", "bounds"]),
    ),
    flag("device.counters", "KGEN_DEVICE_COUNTERS", "counters", Kind::Bool),
    flag("device.profile", "KGEN_DEVICE_PROFILE", "profile", Kind::Bool),
    flag("device.sandbox", "KGEN_DEVICE_SANDBOX", "no-sandbox", Kind::Bool),
    flag("device.launch", "KGEN_DEVICE_LAUNCH", "launch", Kind::List),
    flag("device.launch_workers", "KGEN_DEVICE_LAUNCH_WORKERS", "launch-workers", Kind::Int(1)),
    flag("device.launch_wait_s", "KGEN_DEVICE_LAUNCH_WAIT_S", "launch-wait", Kind::Positive),
    key("device.emu.name", "KGEN_DEVICE_EMU_NAME", Kind::Text),
    key("device.emu.arch", "KGEN_DEVICE_EMU_ARCH", Kind::Arch),
    key("device.emu.sm_count", "KGEN_DEVICE_EMU_SM_COUNT", Kind::Int(1)),
    key("device.emu.smem_max", "KGEN_DEVICE_EMU_SMEM_MAX", Kind::Int(0)),
    key("device.emu.l2_bytes", "KGEN_DEVICE_EMU_L2_BYTES", Kind::Int(0)),
    key("device.emu.memory_bytes", "KGEN_DEVICE_EMU_MEMORY_BYTES", Kind::Int(1)),
    flag("suite.suite", "KGEN_SUITE_SUITE", "suite", Kind::NameOrPath),
    flag("suite.ops", "KGEN_SUITE_OPS", "ops", Kind::List),
    flag("suite.dtypes", "KGEN_SUITE_DTYPES", "dtypes", Kind::DTypes),
    flag("suite.topn", "KGEN_SUITE_TOPN", "topn", Kind::Int(1)),
    flag("suite.max_bytes", "KGEN_SUITE_MAX_BYTES", "max-bytes", Kind::Bytes),
    flag("suite.keep_going", "KGEN_SUITE_KEEP_GOING", "keep-going", Kind::Bool),
    flag("suite.op_file", "KGEN_SUITE_OP_FILE", "op-file", Kind::Path),
    flag(
        "suite.precision",
        "KGEN_SUITE_PRECISION",
        "precision",
        Kind::OneOf(&["strict", "eager", "torch_default", "tf32", "low", "fast_math_ok"]),
    ),
    flag("suite.libraries", "KGEN_SUITE_LIBRARIES", "libraries", Kind::Bool),
    flag("suite.cutlass", "KGEN_SUITE_CUTLASS", "cutlass", Kind::Bool),
    key("limits.emu_lane_instructions", "KGEN_LIMITS_EMU_LANE_INSTRUCTIONS", Kind::Int(1)),
    key("limits.emu_bytes", "KGEN_LIMITS_EMU_BYTES", Kind::Int(1)),
    key("limits.compile_s", "KGEN_LIMITS_COMPILE_S", Kind::Positive),
    key("limits.case_s", "KGEN_LIMITS_CASE_S", Kind::Positive),
    key("limits.max_variants", "KGEN_LIMITS_MAX_VARIANTS", Kind::Int(1)),
    flag("limits.data_sets", "KGEN_LIMITS_DATA_SETS", "seeds", Kind::Int(1)),
    flag("timing.enabled", "KGEN_TIMING_ENABLED", "no-timing", Kind::Bool),
    flag(
        "timing.profile",
        "KGEN_TIMING_PROFILE",
        "timing",
        Kind::OneOf(&["screen", "standard", "final"]),
    ),
    flag("timing.l2", "KGEN_TIMING_L2", "l2", Kind::OneOf(&["cold", "hot"])),
    flag("timing.graph", "KGEN_TIMING_GRAPH", "graph", Kind::Bool),
    flag("timing.do_bench", "KGEN_TIMING_DO_BENCH", "compat", Kind::Bool),
    flag("timing.baselines", "KGEN_TIMING_BASELINES", "baseline", Kind::List),
    key("timing.max_s", "KGEN_TIMING_MAX_S", Kind::Positive),
    flag("nvrtc.path", "KGEN_NVRTC", "nvrtc", Kind::Path),
    flag("nvrtc.offline", "KGEN_OFFLINE", "offline", Kind::Bool),
    key("nvrtc.cache_dir", "KGEN_CACHE_DIR", Kind::Path),
    flag("python.path", "KGEN_PYTHON", "python", Kind::Path),
    key("adapters.candle", "KGEN_CANDLE", Kind::Path),
    key("adapters.burn", "KGEN_BURN", Kind::Path),
    flag("prompts.dir", "KGEN_PROMPTS_DIR", "prompts-dir", Kind::Path),
];

/// Returns the setting of that path.
#[must_use]
pub fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.path == path)
}

impl Kind {
    /// Returns the form of values, for error messages.
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::NameOrPath => "a suite's name or a path".to_owned(),
            Self::Run => "a run ID or a path".to_owned(),
            Self::Int(min) => format!("an integer of at least {min}"),
            Self::Positive => "a number above 0".to_owned(),
            Self::Number => "a number of at least 0".to_owned(),
            Self::Seconds => "a time above 0 such as 90, 90m or 2h".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::List => "a list of names".to_owned(),
            Self::DTypes => "a list of element types such as f32, bf16 or i64".to_owned(),
            Self::Feedback => {
                let names: Vec<_> = FeedbackSet::ALL.iter().map(FeedbackKind::name).collect();
                format!("all, none or a list of {}", names.join(", "))
            }
            Self::Thinking => "adaptive, off or a number of tokens".to_owned(),
            Self::Arch => "an architecture such as sm_90a".to_owned(),
            Self::Bytes => "a number of bytes such as 64MiB".to_owned(),
            Self::Device => "auto, emu, cuda or cuda:N,cuda:M".to_owned(),
            Self::Table => "a table".to_owned(),
            Self::OneOf(words) => match words.split_last() {
                Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
                Some((only, _)) => (*only).to_owned(),
                None => String::new(),
            },
        }
    }

    /// Reads a value out of an environment variable; `None` when it is not of this kind.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<toml::Value> {
        let list = || {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            toml::Value::Array(items.map(|item| toml::Value::String(item.to_owned())).collect())
        };
        let value = match self {
            Self::Text
            | Self::Path
            | Self::NameOrPath
            | Self::Run
            | Self::Device
            | Self::Bytes
            | Self::Seconds
            | Self::Thinking
            | Self::Arch
            | Self::OneOf(_) => toml::Value::String(text.to_owned()),
            Self::Int(_) => toml::Value::Integer(text.trim().parse().ok()?),
            Self::Positive | Self::Number => toml::Value::Float(text.trim().parse().ok()?),
            Self::Bool => toml::Value::Boolean(match text.trim() {
                "1" | "true" | "yes" | "on" => true,
                "0" | "false" | "no" | "off" => false,
                _ => return None,
            }),
            Self::List | Self::DTypes | Self::Feedback => list(),
            Self::Table => return None,
        };
        self.check(value)
    }

    /// Returns the value in its canonical form; `None` when it is not of this kind.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "seconds and factors are far below 2^53")]
    pub fn check(self, value: toml::Value) -> Option<toml::Value> {
        let number = |value: &toml::Value| match value {
            toml::Value::Float(float) if float.is_finite() => Some(*float),
            toml::Value::Integer(int) => Some(*int as f64),
            _ => None,
        };
        match self {
            Self::Text | Self::Path | Self::NameOrPath | Self::Run => {
                value.as_str().is_some_and(|text| !text.is_empty()).then_some(value)
            }
            Self::Int(min) => value.as_integer().is_some_and(|int| int >= min).then_some(value),
            Self::Positive => number(&value).filter(|float| *float > 0.0).map(toml::Value::Float),
            Self::Number => number(&value).filter(|float| *float >= 0.0).map(toml::Value::Float),
            Self::Bool => value.is_bool().then_some(value),
            Self::List => strings(&value).then_some(value),
            Self::DTypes => {
                let dtype = |item: &toml::Value| {
                    item.as_str().is_some_and(|text| text.parse::<DType>().is_ok())
                };
                let array = value.as_array()?;
                array.iter().all(dtype).then_some(value)
            }
            Self::Bytes => match value.as_str() {
                Some(text) => bytes(text).map(toml::Value::Integer),
                None => value.as_integer().is_some_and(|int| int >= 1).then_some(value),
            },
            Self::Seconds => match value.as_str() {
                Some(text) => seconds(text).map(toml::Value::Float),
                None => number(&value).filter(|float| *float > 0.0).map(toml::Value::Float),
            },
            Self::Feedback => feedback(&value),
            Self::Thinking => thinking(&value).map(toml::Value::String),
            Self::Arch => value.as_str().is_some_and(is_arch).then_some(value),
            Self::Device => value.as_str()?.parse::<DeviceChoice>().is_ok().then_some(value),
            Self::Table => value.is_table().then_some(value),
            Self::OneOf(words) => words.contains(&value.as_str()?).then_some(value),
        }
    }
}

/// Reads a number of bytes, 1 or more, with a unit: `64MiB`, `1.5 GB`, `4096`.
#[must_use]
pub fn bytes(text: &str) -> Option<i64> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..end].trim().parse().ok()?;
    let unit = match text[end..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => 1024.0 * 1024.0,
        "mb" => 1e6,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "gb" => 1e9,
        _ => return None,
    };
    let bytes = number * unit;
    #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
    (1.0..9e18).contains(&bytes).then_some(bytes as i64)
}

/// Reads a time above 0 with a unit: `90`, `90s`, `1.5h`.
fn seconds(text: &str) -> Option<f64> {
    let seconds = text.trim().parse().ok().or_else(|| Some(duration(text)?.as_secs_f64()));
    seconds.filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0)
}

/// Reads a time of units: `1h2m3.5s`, `2 d`.
pub fn duration(text: &str) -> Option<Duration> {
    let span: jiff::Span = text.trim().parse().ok()?;
    span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?.try_into().ok()
}

/// Reads kinds of feedback from a list or a text; `all` and `none` stand alone.
fn feedback(value: &toml::Value) -> Option<toml::Value> {
    let text = match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) if items.is_empty() => FeedbackSet::NONE.to_string(),
        toml::Value::Array(items) => {
            items.iter().map(toml::Value::as_str).collect::<Option<Vec<_>>>()?.join(",")
        }
        _ => return None,
    };
    let kinds = text.parse::<FeedbackSet>().ok()?.iter();
    Some(toml::Value::Array(kinds.map(|kind| kind.name().into()).collect()))
}

/// Returns the first of some names that is no element type.
pub(crate) fn unknown_dtype<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names.find(|name| name.parse::<DType>().is_err())
}

/// Returns the advice for a name that is no element type; `float32` and `torch.bfloat16` are near ones.
pub(crate) fn near_dtype(name: &str) -> String {
    let names = DType::ALL.map(DType::name);
    let short = name.strip_prefix("torch.").unwrap_or(name).to_ascii_lowercase();
    let short = short.replace("float", "f").replace("int", "i");
    match kgen_ops::nearest(&short, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the element types are {}", names.join(", ")),
    }
}

/// Returns whether a text has the form of an architecture that NVRTC may know: `sm_75`, `sm_90a`, `sm_120f`.
fn is_arch(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("sm_") else { return false };
    let number = rest.strip_suffix(['a', 'f']).unwrap_or(rest);
    number.bytes().all(|b| b.is_ascii_digit())
        && number.parse().is_ok_and(|n: u32| (50..200).contains(&n))
}

/// Reads how a model is to think: a word, or a number of tokens.
fn thinking(value: &toml::Value) -> Option<String> {
    let text = match value {
        toml::Value::Integer(tokens) => tokens.to_string(),
        value => value.as_str()?.trim().to_owned(),
    };
    let is_number = text.parse::<u32>().is_ok_and(|tokens| 0 < tokens);
    (is_number || text == "adaptive" || text == "off").then_some(text)
}

fn strings(value: &toml::Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(toml::Value::is_str))
}
