//! The tools: evaluations by the service, all else by kgen's own commands.

use std::{io::Write as _, path::PathBuf, sync::Arc, time::Duration};

use kgen_process::{DEVICE_ENV, NETWORK_ENV, PYTHON_ENV, SELF_EXE, Spec};
use kgen_record::Evaluation;
use kgen_serve::{ApiError, EvaluateRequest, PromptQuery, Service};
use rmcp::{
    ServerHandler,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig},
    tool, tool_handler, tool_router,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// Longest wait for an evaluation: agents give a call a few minutes.
const WAIT: Duration = Duration::from_secs(240);

/// Time that a command may take; profilers are slow.
const COMMAND_LIMIT: Duration = Duration::from_secs(1_800);

const INSTRUCTIONS: &str = "kgen judges CUDA kernels against an f64 reference and times them. show_op gives the task and the form of a \
    kernel file; evaluate judges one and returns findings to act on. A result with `infra_error` says nothing about the kernel.";

/// Tools for an agent.
#[derive(Clone)]
pub(super) struct Tools {
    service: Arc<Service>,
    /// `--config` of the commands.
    config: Option<PathBuf>,
    tool_router: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ShowOp {
    /// Name of an op, for example softmax or aten.add.Tensor.
    op: String,
    /// Element types, for example f32; all of the suite without them.
    #[serde(default)]
    dtypes: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Profile {
    /// Name of an op.
    op: String,
    /// The kernel file.
    source: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Compare {
    /// Two or more runs: IDs, `latest`, or paths.
    runs: Vec<String>,
}

#[tool_router]
impl Tools {
    pub(super) fn new(service: Arc<Service>, config: Option<PathBuf>) -> Self {
        Self { service, config, tool_router: Self::tool_router() }
    }

    /// Returns an op's contract, its cases, and how a kernel file for it is written.
    #[tool(annotations(read_only_hint = true))]
    async fn show_op(&self, Parameters(args): Parameters<ShowOp>) -> CallToolResult {
        let query = PromptQuery { op: args.op, dtypes: args.dtypes };
        match self.service.prompt(&query) {
            Ok(prompt) => answer(prompt.prompt.clone(), serde_json::json!(prompt)),
            Err(error) => refusal(&error),
        }
    }

    /// Judges a kernel file: compiles it, runs it on many cases, compares every element, times it where there is a GPU and
    /// `level` is `time`. Returns the verdict and findings to act on.
    #[tool(annotations(read_only_hint = true))]
    async fn evaluate(&self, Parameters(request): Parameters<EvaluateRequest>) -> CallToolResult {
        match self.service.evaluate(request, WAIT).await {
            Ok(job) => answer(summary(&job), job),
            Err(error) => refusal(&error),
        }
    }

    /// Judges a kernel file under Nsight Compute and compute-sanitizer and names its bottleneck; needs a GPU.
    #[tool(annotations(read_only_hint = true))]
    async fn profile(&self, Parameters(args): Parameters<Profile>) -> CallToolResult {
        let Ok(file) = source_file(&args.source) else {
            return CallToolResult::error(vec![ContentBlock::text("the kernel cannot be stored")]);
        };
        let path = file.path().display().to_string();
        let op = format!("--op={}", args.op);
        let (text, document) = match self.document(&["profile", &op, &path], &[]).await {
            Ok(found) => found,
            Err(error) => return error,
        };
        let evaluation = serde_json::from_value::<Evaluation>(document["data"].clone()).ok();
        let kinds = kgen_record::FeedbackSet::ALL;
        let found = evaluation.map(|found| kgen_prompt::feedback(&found, &args.source, kinds));
        of_document(found.unwrap_or(text), document)
    }

    /// Compares stored runs: solve rates, speedups and costs, with intervals.
    #[tool(annotations(read_only_hint = true))]
    async fn compare(&self, Parameters(args): Parameters<Compare>) -> CallToolResult {
        let runs: Vec<&str> = args.runs.iter().map(String::as_str).collect();
        self.shown(&["compare"], &runs).await
    }

    /// Lists stored runs, the newest first.
    #[tool(annotations(read_only_hint = true))]
    async fn list_runs(&self) -> CallToolResult {
        self.shown(&["list", "runs"], &[]).await
    }

    /// Returns a command's text and its document.
    async fn shown(&self, command: &[&str], operands: &[&str]) -> CallToolResult {
        let text = self.command(command, operands);
        let (text, document) = tokio::join!(text, self.document(command, operands));
        match (text, document) {
            (Ok(text), Ok((_, document))) => of_document(text, document),
            (Err(error), _) | (_, Err(error)) => error,
        }
    }

    /// Runs a command; returns its document, and the message of a failure.
    async fn document(
        &self,
        command: &[&str],
        operands: &[&str],
    ) -> Result<(String, Value), CallToolResult> {
        let text = self.command(&[command, &["--format=json"]].concat(), operands).await?;
        let document: Value = serde_json::from_str(&text)
            .map_err(|error| CallToolResult::error(vec![ContentBlock::text(error.to_string())]))?;
        let message = document["error"]["message"].as_str().unwrap_or_default().to_owned();
        Ok((message, document))
    }

    /// Runs a command; returns its output. Operands come from an agent and are never taken for flags.
    async fn command(&self, command: &[&str], operands: &[&str]) -> Result<String, CallToolResult> {
        let failed = |text: String| CallToolResult::error(vec![ContentBlock::text(text)]);
        let here = std::env::current_dir().map_err(|error| failed(error.to_string()))?;
        let mut spec = Spec::new(SELF_EXE, here).deadline(COMMAND_LIMIT);
        if let Some(config) = &self.config {
            spec = spec.args(["--config".as_ref(), config.as_os_str()]);
        }
        let end_of_flags: &[&str] = if operands.is_empty() { &[] } else { &["--"] };
        let spec = spec.args(command).args(end_of_flags).args(operands);
        let spec =
            spec.inherit(DEVICE_ENV).inherit(NETWORK_ENV).inherit(PYTHON_ENV).inherit(&["KGEN_*"]);
        let output =
            kgen_process::run_async(&spec).await.map_err(|error| failed(error.to_string()))?;
        if output.stdout.is_empty() {
            return Err(failed(output.stderr_text()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("kgen", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}

fn answer(text: String, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

/// Returns the answer of a command.
fn of_document(text: String, document: Value) -> CallToolResult {
    let failed = !document["error"].is_null();
    let mut result = answer(text, document);
    result.is_error = Some(failed);
    result
}

fn refusal(error: &ApiError) -> CallToolResult {
    let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
    let mut result = CallToolResult::error(vec![ContentBlock::text(format!("{error}{hint}"))]);
    result.structured_content = serde_json::to_value(error).ok();
    result
}

/// Returns a job's result in words.
fn summary(job: &Value) -> String {
    let result = &job["result"];
    if let Some(error) = result["infra_error"].as_object() {
        let text = error["text"].as_str().unwrap_or_default();
        return format!("The machine failed, which says nothing about the kernel: {text}");
    }
    match (result["feedback"].as_str(), result["compiled"].as_bool()) {
        (Some(feedback), _) if !feedback.is_empty() => feedback.to_owned(),
        (_, Some(true)) => "It compiles.".to_owned(),
        _ => format!("The job is {}; ask again with the same arguments.", job["state"]),
    }
}

/// Stores a kernel file for a command.
fn source_file(source: &str) -> std::io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().suffix(".cu").tempfile()?;
    file.write_all(source.as_bytes())?;
    Ok(file)
}
