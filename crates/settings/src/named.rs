//! The tables whose entries the user names: `providers.NAME` and `models.NAME`.

use toml::{Table, Value};

use super::{keys::Kind, unknown};

/// A setting of a table with a name of the user's.
pub(crate) struct NamedKey {
    /// The table, with `NAME` for the name.
    pub(crate) section: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

const fn provider(name: &'static str, kind: Kind) -> NamedKey {
    NamedKey { section: "providers.NAME", name, kind }
}

const fn model(name: &'static str, kind: Kind) -> NamedKey {
    NamedKey { section: "models.NAME", name, kind }
}

const fn price(name: &'static str) -> NamedKey {
    NamedKey { section: "models.NAME.price", name, kind: Kind::Number }
}

/// All settings of such tables.
pub(crate) const NAMED_KEYS: &[NamedKey] = &[
    provider("kind", Kind::OneOf(&["anthropic", "openai-chat", "openai-responses", "command"])),
    provider("base_url", Kind::Text),
    provider("key_env", Kind::Text),
    provider("model", Kind::Text),
    provider("version", Kind::Text),
    provider("command", Kind::List),
    provider("reply_pointer", Kind::Text),
    provider("reply_file", Kind::Text),
    provider("usage_pointer", Kind::Text),
    provider("cost_pointer", Kind::Text),
    provider("extra_body", Kind::Table),
    provider("drop", Kind::List),
    provider("stream", Kind::Bool),
    model("context_tokens", Kind::Int(1)),
    model("max_output_tokens", Kind::Int(1)),
    model("temperature", Kind::Bool),
    model("efforts", Kind::List),
    model("thinking", Kind::List),
    model("price", Kind::Table),
    price("input"),
    price("output"),
    price("cache_read"),
    price("cache_write"),
];

/// Tables whose entries the user names.
pub(crate) const NAMED: [&str; 2] = ["providers", "models"];

/// A mistake in an entry of such a table.
pub(crate) enum Wrong {
    Unknown {
        /// The dotted path, with the user's name in it.
        key: String,
        advice: String,
    },
    Value {
        key: String,
        kind: Kind,
        got: Value,
    },
}

/// Checks the table `root` of all entries: names and kinds of their settings.
pub(crate) fn check(root: &str, entries: &Value) -> Result<(), Wrong> {
    let section = if root == NAMED[0] { "providers.NAME" } else { "models.NAME" };
    for (name, entry) in table(root.to_owned(), entries)? {
        let path = format!("{root}.{name}");
        check_entry(section, &path, table(path.clone(), entry)?)?;
    }
    Ok(())
}

fn check_entry(section: &'static str, path: &str, entry: &Table) -> Result<(), Wrong> {
    for (name, value) in entry {
        let path = format!("{path}.{name}");
        let known = NAMED_KEYS.iter().find(|key| key.section == section && key.name == name);
        let Some(known) = known else {
            // With `NAME` for the user's own name, which may hold dots.
            let parts: Vec<&str> = section.split('.').chain([name.as_str()]).collect();
            return Err(Wrong::Unknown { key: path, advice: unknown::advice(&parts) });
        };
        if known.kind.check(value.clone()).is_none() {
            return Err(Wrong::Value { key: path, kind: known.kind, got: value.clone() });
        }
        if known.name == "price" {
            check_entry("models.NAME.price", &path, table(path.clone(), value)?)?;
        }
    }
    Ok(())
}

fn table(key: String, value: &Value) -> Result<&Table, Wrong> {
    let wrong = || Wrong::Value { key, kind: Kind::Table, got: value.clone() };
    value.as_table().ok_or_else(wrong)
}
