//! Schemas of what commands print with `--format json`.

use kgen_compare::Comparison;
use kgen_record::Evaluation;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    commands::{
        bench, check, doctor, experiment, export, history, import, list, profile, regress,
        selftest, setup, show,
    },
    document::Document,
};
use crate::report::Summary;

/// Data of a document.
pub(crate) trait Output: Serialize + JsonSchema {
    /// Name of its schema.
    const SCHEMA: &'static str;
    /// Rises when a member is removed or renamed or changes its type or meaning.
    const VERSION: u32 = 1;
}

/// Returns the `schema` of documents with such data.
pub(super) fn id<T: Output>() -> String {
    format!("kgen/{}/{}", T::SCHEMA, T::VERSION)
}

macro_rules! outputs {
    ($($data:ty: $name:literal,)*) => {
        $(impl Output for $data {
            const SCHEMA: &'static str = $name;
        })*

        /// All schemas, by name.
        pub(crate) const ALL: &[OutputSchema] = &[$(OutputSchema {
            name: $name,
            id: id::<$data>,
            schema: schema::<$data>,
        }),*];
    };
}

outputs! {
    kgen_bench::Document: "bench",
    bench::BenchEstimate: "bench-estimate",
    kgen_membench::Report: "bench-memory",
    Vec<check::FileReport>: "check",
    Comparison: "compare",
    Vec<doctor::Item>: "doctor",
    (): "error",
    Evaluation: "eval",
    Vec<experiment::PlannedRun>: "experiment-plan",
    export::Exported: "export",
    Vec<import::Imported>: "import",
    Vec<list::BackendItem>: "list-backends",
    Vec<list::DeviceItem>: "list-devices",
    Vec<list::OpItem>: "list-ops",
    Vec<list::RunItem>: "list-runs",
    Vec<list::SuiteItem>: "list-suites",
    history::HistoryData: "history",
    regress::RegressData: "regress",
    profile::command::ProfiledCommand: "profile-command",
    Summary: "run",
    selftest::Proofs: "selftest",
    setup::Installed: "setup",
    show::Shown: "show",
}

/// A schema, by its name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputSchema {
    pub(crate) name: &'static str,
    id: fn() -> String,
    schema: fn() -> Schema,
}

impl OutputSchema {
    /// Returns the `schema` of documents of the kind.
    pub(crate) fn id(&self) -> String {
        (self.id)()
    }

    /// Returns the schema itself.
    pub(crate) fn json(&self) -> Value {
        (self.schema)().to_value()
    }

    /// Finds a schema by its name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|schema| schema.name == name)
    }
}

fn schema<T: Output>() -> Schema {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Document<T>>();
    schema.insert("title".to_owned(), format!("kgen {}", T::SCHEMA).into());
    schema.insert("$id".to_owned(), format!("urn:kgen:{}:{}", T::SCHEMA, T::VERSION).into());
    transform_strings(schema.as_object_mut().into_iter().flat_map(|object| object.values_mut()));
    if let Some(name) = schema.pointer_mut("/properties/schema").and_then(Value::as_object_mut) {
        name.remove("type");
        name.insert("const".to_owned(), json!(id::<T>()));
    }
    schema
}

/// Rewrites descriptions, which are comments of Rust, for readers of JSON.
fn transform_strings<'a>(values: impl Iterator<Item = &'a mut Value>) {
    for value in values {
        match value {
            Value::String(text) => {
                *text = text.replace("[`", "`").replace("`]", "`").replace("`None`", "`null`");
            }
            Value::Object(object) => transform_strings(object.values_mut()),
            Value::Array(items) => transform_strings(items.iter_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns the `schema` of a command's documents; `kind` is that of `list` or a subcommand, and `is_other` says that a command is
/// used in its second way: `experiment --dry-run`, `profile` of a command.
pub(super) fn of_command(command: &str, kind: Option<&str>, is_other: bool) -> String {
    let name = match command {
        "generate" | "resume" | "report" => "run",
        "profile" if is_other => "profile-command",
        "profile" => "eval",
        "bench" if kind == Some("memory") => "bench-memory",
        "bench" if is_other => "bench-estimate",
        "experiment" if is_other => "experiment-plan",
        "experiment" => "compare",
        "list" => match kind {
            Some("suites") => "list-suites",
            Some("runs") => "list-runs",
            Some("backends") => "list-backends",
            Some("devices") => "list-devices",
            _ => "list-ops",
        },
        command => command,
    };
    OutputSchema::find(name).map_or_else(id::<()>, OutputSchema::id)
}
