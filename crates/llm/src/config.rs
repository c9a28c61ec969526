//! How a provider is reached, resolved: no file, flag or environment is read here.

use std::{fmt, sync::Arc, time::Duration};

use kgen_settings::{Effort, ModelSettings};
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::{
    CacheAccess, CommandAccess, RateLimits, Recording,
    wire::{Anthropic, OpenAiChat, OpenAiResponses, Wire},
};

/// Version of the Anthropic API that is asked for unless configured otherwise.
pub const DEFAULT_ANTHROPIC_VERSION: &str = "2026-10-21";

/// A provider that kgen knows by name.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    pub name: &'static str,
    pub wire: &'static dyn Wire,
    /// Its base URL; the wire format appends its path.
    pub base_url: &'static str,
    /// The environment variable that people keep its key in; `None` where none is needed.
    pub key_variable: Option<&'static str>,
    /// The environment variable that people keep another base URL in.
    pub base_url_variable: Option<&'static str>,
    /// The name of the request field for the token limit.
    pub max_tokens_field: &'static str,
    /// How it takes effort and thinking.
    pub reasoning: Reasoning,
    /// Whether it takes a key that sends prompts with a common beginning to one cache.
    pub cache_key: bool,
    /// The model where the user names none.
    pub model: Option<&'static str>,
}

/// Where a server that speaks Chat Completions looks for effort and thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    /// Effort as its wire format says.
    Standard,
    /// Both in `reasoning`.
    OpenRouter,
    /// Effort as usual, `thinking` to turn it off.
    DeepSeek,
}

/// How a model is to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// As much as it finds right.
    Adaptive,
    Off,
    /// So many tokens at most.
    Tokens(u32),
}

impl Thinking {
    /// Reads `adaptive`, `off` or a number of tokens.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "adaptive" => Some(Self::Adaptive),
            "off" => Some(Self::Off),
            tokens => tokens.parse().ok().filter(|tokens| *tokens > 0).map(Self::Tokens),
        }
    }

    /// Returns the word that stands for it in a model's table.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Off => "off",
            Self::Tokens(_) => "tokens",
        }
    }
}

/// Returns a provider that takes the common fields of Chat Completions.
const fn chat(
    name: &'static str,
    base_url: &'static str,
    key_variable: Option<&'static str>,
) -> Preset {
    Preset {
        name,
        wire: &OpenAiChat,
        base_url,
        key_variable,
        base_url_variable: None,
        max_tokens_field: "max_tokens",
        reasoning: Reasoning::Standard,
        cache_key: false,
        model: None,
    }
}

/// `OpenAI`'s own server, which takes the older of its formats under a newer name of the limit.
const OPENAI: Preset = Preset {
    base_url_variable: Some("OPENAI_BASE_URL"),
    max_tokens_field: "max_completion_tokens",
    cache_key: true,
    model: Some("gpt-6-sol"),
    ..chat("openai", "https://api.openai.com/v1", Some("OPENAI_API_KEY"))
};

/// The providers that need no configuration beyond a key and a model.
pub const PRESETS: [Preset; 15] = [
    Preset {
        wire: &Anthropic,
        base_url_variable: Some("ANTHROPIC_BASE_URL"),
        model: Some("claude-opus-5-5"),
        ..chat("anthropic", "https://api.anthropic.com", Some("ANTHROPIC_API_KEY"))
    },
    OPENAI,
    Preset {
        name: "openai-responses",
        wire: &OpenAiResponses,
        max_tokens_field: "max_output_tokens",
        ..OPENAI
    },
    Preset {
        reasoning: Reasoning::OpenRouter,
        ..chat("openrouter", "https://openrouter.ai/api/v1", Some("OPENROUTER_API_KEY"))
    },
    Preset {
        reasoning: Reasoning::DeepSeek,
        ..chat("deepseek", "https://api.deepseek.com", Some("DEEPSEEK_API_KEY"))
    },
    chat(
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        Some("GEMINI_API_KEY"),
    ),
    chat("groq", "https://api.groq.com/openai/v1", Some("GROQ_API_KEY")),
    chat("mistral", "https://api.mistral.ai/v1", Some("MISTRAL_API_KEY")),
    chat("together", "https://api.together.xyz/v1", Some("TOGETHER_API_KEY")),
    chat("xai", "https://api.x.ai/v1", Some("XAI_API_KEY")),
    chat("ollama", "http://localhost:11434/v1", None),
    chat("vllm", "http://localhost:8000/v1", None),
    chat("sglang", "http://localhost:30000/v1", None),
    chat("llamacpp", "http://localhost:8080/v1", None),
    chat("lmstudio", "http://localhost:1234/v1", None),
];

#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// A provider, ready to be called.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Name for messages and records.
    pub name: String,
    /// The model asked for; may be empty where the access has none.
    pub model: String,
    /// Calls in flight, requests and tokens per minute at most.
    pub limits: RateLimits,
    /// The facts of the model; absent facts are not checked.
    pub abilities: ModelSettings,
    /// Replies of other runs to equal requests; `None` neither takes nor keeps any.
    pub cache: Option<CacheAccess>,
    /// How it is reached.
    pub access: Access,
}

impl ProviderConfig {
    /// Returns the tokens that a reply may have; `None` where nothing limits it.
    #[must_use]
    pub fn reply_limit(&self, max_tokens: u32) -> Option<u64> {
        super::check::reply_limit(self, max_tokens)
    }

    /// Returns a provider of which nothing is known but how it is reached.
    #[must_use]
    pub fn new(name: &str, model: &str, concurrency: usize, access: Access) -> Self {
        Self {
            name: name.to_owned(),
            model: model.to_owned(),
            limits: RateLimits { concurrency, ..RateLimits::default() },
            abilities: ModelSettings::default(),
            cache: None,
            access,
        }
    }
}

/// How a provider is reached.
#[derive(Clone)]
pub enum Access {
    Http(Box<HttpAccess>),
    Command(CommandAccess),
    /// A person, or another machine, writes the reply file.
    Mailbox(MailboxAccess),
    Replay(Arc<dyn Recording>),
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(http) => http.fmt(f),
            Self::Command(command) => command.fmt(f),
            Self::Mailbox(mailbox) => mailbox.fmt(f),
            Self::Replay(_) => f.write_str("Replay"),
        }
    }
}

/// A provider over HTTP.
#[derive(Clone)]
pub struct HttpAccess {
    pub wire: &'static dyn Wire,
    /// The base URL, for example `https://api.openai.com/v1`.
    pub base_url: String,
    /// The key; `None` sends none.
    pub key: Option<SecretString>,
    /// The environment variable the key is looked for in, for messages.
    pub key_variable: Option<String>,
    /// Value of the `anthropic-version` header.
    pub anthropic_version: String,
    /// Name of the request field for the token limit.
    pub max_tokens_field: String,
    /// How hard the model is to think; `None` sends nothing.
    pub effort: Option<Effort>,
    /// How it is to think; `None` sends nothing.
    pub thinking: Option<Thinking>,
    /// Where effort and thinking go.
    pub reasoning: Reasoning,
    /// Whether the provider is asked to cache the beginning of prompts.
    pub prompt_cache: bool,
    /// Fields merged into the request body, over kgen's own.
    pub extra_body: Map<String, Value>,
    /// Fields left out of the request body.
    pub drop: Vec<String>,
    /// Whether the reply is streamed.
    pub stream: bool,
    /// Time to connect at most.
    pub connect_timeout: Duration,
    /// Silence at most: before the first byte of a stream, and between its bytes.
    pub idle_timeout: Duration,
    /// Time for a whole response that is not streamed.
    pub response_timeout: Duration,
    pub retry: RetryPolicy,
}

impl fmt::Debug for HttpAccess {
    /// Prints no base URL: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAccess")
            .field("wire", &self.wire)
            .field("key_variable", &self.key_variable)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl HttpAccess {
    /// Returns the access to a server that no preset names.
    #[must_use]
    pub fn of_wire(wire: &'static dyn Wire, key: Option<SecretString>) -> Self {
        let max_tokens_field = wire.max_tokens_field();
        Self::new(&Preset { wire, max_tokens_field, ..chat("", "", None) }, key)
    }

    /// Returns the access a preset stands for, with kgen's defaults.
    #[must_use]
    pub fn new(preset: &Preset, key: Option<SecretString>) -> Self {
        Self {
            wire: preset.wire,
            base_url: preset.base_url.to_owned(),
            key,
            key_variable: preset.key_variable.map(str::to_owned),
            anthropic_version: DEFAULT_ANTHROPIC_VERSION.to_owned(),
            max_tokens_field: preset.max_tokens_field.to_owned(),
            effort: None,
            thinking: None,
            reasoning: preset.reasoning,
            prompt_cache: false,
            extra_body: Map::new(),
            drop: Vec::new(),
            stream: true,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(180),
            response_timeout: Duration::from_secs(900),
            retry: RetryPolicy::default(),
        }
    }
}

/// How often and how long a failed request is tried again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryPolicy {
    /// Tries at most, the first included.
    pub max_tries: u32,
    /// Wait before the second try where the provider names none; doubles with every try.
    pub base_wait: Duration,
    /// Longest wait of that kind.
    pub max_backoff: Duration,
    /// Longest time that a server is tried to which no connection can be made; its tries do not count.
    pub max_outage: Duration,
    /// Longest time from the first send to the last retry, waits included.
    pub total: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_tries: 6,
            base_wait: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
            max_outage: Duration::from_secs(600),
            total: Duration::from_secs(900),
        }
    }
}

/// Replies that are written by hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MailboxAccess {
    /// How long a reply is waited for; zero asks once.
    pub wait: Duration,
    /// How often it is looked for.
    pub poll: Duration,
}

impl Default for MailboxAccess {
    fn default() -> Self {
        Self { wait: Duration::ZERO, poll: Duration::from_millis(200) }
    }
}
