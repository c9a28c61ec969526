//! Merges the layers of settings and says which layer a bad value came from.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::{
    Settings, env,
    keys::{self, KEYS, Key, Kind},
    named::{self, NAMED, Wrong},
    unknown,
};

/// The commented defaults: the reference of all settings.
pub const DEFAULTS: &str = include_str!("../../../config.toml");

/// Why settings could not be resolved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A config file cannot be read.
    #[error("failed to read config file `{}`", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// A config file is no TOML.
    #[error("config file `{}` is not valid TOML", path.display())]
    Parse { path: PathBuf, source: Box<toml::de::Error> },
    /// A setting that does not exist.
    #[error("unknown setting `{key}` in config file `{}`", path.display())]
    UnknownKey {
        key: String,
        path: PathBuf,
        /// The nearest setting that exists, with the section it lives in.
        advice: String,
    },
    /// A value of the wrong kind.
    #[error("`{key}` ({origin}) must be {expected}, not {got}")]
    BadValue {
        key: String,
        /// File, variable or flag.
        origin: String,
        expected: String,
        got: String,
        /// The way out.
        advice: Option<String>,
    },
    /// The merged settings do not fit the structs: a number out of range or a bad provider table.
    #[error("the settings do not fit together")]
    Shape(#[source] Box<toml::de::Error>),
}

impl Error {
    /// Returns the way out.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { advice, .. } => Some(advice.clone()),
            Self::Shape(_) => {
                Some("config.toml in kgen's repository documents every setting".to_owned())
            }
            Self::Read { .. } | Self::Parse { .. } => {
                Some("--config FILE reads another file instead".to_owned())
            }
            Self::BadValue { advice, .. } => advice.clone(),
        }
    }
}

/// Settings given by flags: path of the setting and value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides(Vec<(&'static Key, Value)>);

impl Overrides {
    /// Adds a value if there is one.
    ///
    /// # Panics
    ///
    /// When no setting has that path.
    pub fn set(&mut self, path: &str, value: Option<impl Into<Value>>) {
        let key = keys::find(path).expect("flags name settings that exist, a test runs them all");
        if let Some(value) = value {
            self.0.push((key, value.into()));
        }
    }

    /// Returns the flags that were given, without their dashes.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter_map(|(key, _)| key.flag)
    }
}

/// Resolved settings with warnings.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub settings: Settings,
    /// The config file that was read.
    pub file: Option<PathBuf>,
    /// `KGEN_` variables that set nothing, with similar names.
    pub warnings: Vec<String>,
}

/// Resolves the settings of this process.
///
/// # Errors
///
/// A config file that cannot be read, an unknown setting, a value of the wrong kind.
pub fn resolve(config: Option<&Path>, flags: &Overrides) -> Result<Resolved, Error> {
    let file = config.map(Path::to_owned).or_else(|| {
        let user = env::config_home().map(|folder| folder.join("config.toml"));
        let candidates = [Some(PathBuf::from("config.toml")), user];
        candidates.into_iter().flatten().find(|path| path.is_file())
    });
    let mut resolved = resolve_with(file.as_deref(), &env::lookup, flags)?;
    resolved.warnings = stray_variables(env::own_names());
    Ok(resolved)
}

/// Resolves settings from one config file, a way to look up variables, and flags.
///
/// # Errors
///
/// As [`resolve`].
///
/// # Panics
///
/// When the embedded defaults are no TOML.
pub fn resolve_with(
    file: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
    flags: &Overrides,
) -> Result<Resolved, Error> {
    let defaults: Table = DEFAULTS.parse().expect("a test parses the embedded defaults");
    // Short forms such as "all" are written out, as in a user's file.
    let mut merged = defaults.clone();
    merge_file(&mut merged, defaults, Path::new(""))?;
    if let Some(path) = file {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::Read { path: path.to_owned(), source })?;
        let table: Table = text
            .parse()
            .map_err(|source| Error::Parse { path: path.to_owned(), source: Box::new(source) })?;
        merge_file(&mut merged, table, path)?;
    }
    for key in KEYS {
        if let Some(text) = variable(key.env) {
            let origin = format!("variable {}", key.env);
            let got = || match key.kind {
                Kind::DTypes => keys::unknown_dtype(text.split(',').map(str::trim)),
                _ => None,
            };
            let bad = || {
                let got = format!("`{}`", got().unwrap_or(&text));
                bad_value(key.path, key.kind, origin, got)
            };
            put(&mut merged, key.path, key.kind.parse(&text).ok_or_else(bad)?);
        }
    }
    put_flags(&mut merged, flags)?;
    let settings = merged.try_into().map_err(|source| Error::Shape(Box::new(source)))?;
    Ok(Resolved { settings, file: file.map(Path::to_owned), warnings: Vec::new() })
}

impl Settings {
    /// Returns these settings with those of a table over them, as it stands in the file at `path`.
    ///
    /// # Errors
    ///
    /// An unknown setting, a value of the wrong kind.
    pub fn with_table(&self, table: Table, path: &Path) -> Result<Self, Error> {
        let mut merged = self.table()?;
        merge_file(&mut merged, table, path)?;
        merged.try_into().map_err(|source| Error::Shape(Box::new(source)))
    }

    fn table(&self) -> Result<Table, Error> {
        let shape = |source| Error::Shape(Box::new(source));
        let text = toml::to_string(self).map_err(|error| shape(serde::de::Error::custom(error)))?;
        text.parse().map_err(shape)
    }

    /// Returns these settings with some given anew by flags, for a run that is gone on with.
    ///
    /// # Errors
    ///
    /// A value of the wrong kind.
    pub fn with(&self, flags: &Overrides) -> Result<Self, Error> {
        let mut table = self.table()?;
        put_flags(&mut table, flags)?;
        table.try_into().map_err(|source| Error::Shape(Box::new(source)))
    }
}

fn put_flags(table: &mut Table, flags: &Overrides) -> Result<(), Error> {
    for (key, value) in &flags.0 {
        let origin = format!("flag --{}", key.flag.unwrap_or(key.path));
        let bad = || bad_value(key.path, key.kind, origin, shown(key.kind, value));
        put(table, key.path, key.kind.check(value.clone()).ok_or_else(bad)?);
    }
    Ok(())
}

fn bad_value(path: &str, kind: Kind, origin: String, got: String) -> Error {
    let advice = (kind == Kind::DTypes).then(|| keys::near_dtype(got.trim_matches('`')));
    Error::BadValue { key: path.to_owned(), origin, expected: kind.expected(), got, advice }
}

/// Returns a value for an error: a text is called one where something else is expected, as `"3"` is no
/// number. Of a list of types it is the one that is unknown.
fn shown(kind: Kind, value: &Value) -> String {
    if let (Kind::DTypes, Value::Array(items)) = (kind, value)
        && let Some(unknown) = keys::unknown_dtype(items.iter().filter_map(Value::as_str))
    {
        return format!("`{unknown}`");
    }
    let is_other = match kind {
        Kind::Int(_)
        | Kind::Positive
        | Kind::Number
        | Kind::Bool
        | Kind::List
        | Kind::DTypes
        | Kind::Table => true,
        Kind::Text
        | Kind::Path
        | Kind::NameOrPath
        | Kind::Run
        | Kind::Seconds
        | Kind::Feedback
        | Kind::Bytes
        | Kind::Device
        | Kind::Thinking
        | Kind::Arch
        | Kind::OneOf(_) => false,
    };
    match value {
        Value::String(text) if is_other => format!("the text `{text}`"),
        Value::String(text) => format!("`{text}`"),
        Value::Table(_) => "a table".to_owned(),
        value => format!("`{value}`"),
    }
}

/// Merges a config file over the defaults.
fn merge_file(merged: &mut Table, table: Table, path: &Path) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    for (name, value) in flatten(table) {
        let origin = format!("in {}", path.display());
        let not_known =
            |key: String, advice: String| Error::UnknownKey { key, path: path.to_owned(), advice };
        if NAMED.contains(&name.as_str()) {
            named::check(&name, &value).map_err(|wrong| match wrong {
                Wrong::Unknown { key, advice } => not_known(key, advice),
                Wrong::Value { key, kind, got } => bad_value(&key, kind, origin, shown(kind, &got)),
            })?;
            put(merged, &name, value);
            continue;
        }
        let Some(key) = keys::find(&name) else {
            let advice = unknown::advice(&name.split('.').collect::<Vec<_>>());
            return Err(not_known(name, advice));
        };
        let bad = bad_value(key.path, key.kind, origin, shown(key.kind, &value));
        let value = key.kind.check(value).ok_or(bad)?;
        put(merged, &name, relative_to(key.kind, folder, value));
    }
    Ok(())
}

/// Lists the leaves of a table by their dotted paths; a table with names of the user is one leaf:
/// such names may hold dots.
fn flatten(table: Table) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    let mut queue = vec![(String::new(), table)];
    while let Some((prefix, table)) = queue.pop() {
        for (name, value) in table {
            let path = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
            match value {
                Value::Table(inner) if !NAMED.contains(&path.as_str()) && !inner.is_empty() => {
                    queue.push((path, inner));
                }
                // An empty section of a known name says nothing.
                Value::Table(inner) if inner.is_empty() && is_section(&path) => {}
                value => leaves.push((path, value)),
            }
        }
    }
    leaves
}

fn is_section(path: &str) -> bool {
    let prefix = format!("{path}.");
    KEYS.iter().any(|key| key.path.starts_with(&prefix))
}

fn put(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value);
        }
        Some((head, rest)) => {
            let inner = table.entry(head).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// Makes a path in a config file relative to that file.
fn relative_to(kind: Kind, folder: &Path, value: Value) -> Value {
    let is_path = |text: &str| match kind {
        Kind::Path => true,
        Kind::NameOrPath => text.contains('/') || has_toml_extension(text),
        Kind::Run => text.contains('/'),
        Kind::Text
        | Kind::Int(_)
        | Kind::Positive
        | Kind::Number
        | Kind::Bool
        | Kind::List
        | Kind::DTypes
        | Kind::Bytes
        | Kind::Seconds
        | Kind::Feedback
        | Kind::Thinking
        | Kind::Arch
        | Kind::Device
        | Kind::Table
        | Kind::OneOf(_) => false,
    };
    match value.as_str() {
        Some(text) if is_path(text) => Value::String(folder.join(text).display().to_string()),
        Some(_) | None => value,
    }
}

/// Returns whether a suite's name is the path of a file.
fn has_toml_extension(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|extension| extension == "toml")
}

fn stray_variables(names: Vec<String>) -> Vec<String> {
    // The test suite's own switches are not settings.
    let known = |name: &str| {
        name.starts_with("KGEN_TEST_")
            || name.starts_with("KGEN_REQUIRE_")
            || KEYS.iter().any(|key| key.env == name)
            || env::ALL.iter().any(|var| var.name == name)
    };
    let mut stray: Vec<_> = names.into_iter().filter(|name| !known(name)).collect();
    stray.sort();
    stray.iter().map(|name| stray_variable(name)).collect()
}

fn stray_variable(name: &str) -> String {
    // All names begin alike.
    let own = |name: &'static str| name.trim_start_matches("KGEN_");
    let near =
        kgen_ops::nearest(name.trim_start_matches("KGEN_"), KEYS.iter().map(|key| own(key.env)));
    match near {
        Some(near) => format!("variable {name} sets nothing; did you mean KGEN_{near}?"),
        None => format!("variable {name} sets nothing"),
    }
}
