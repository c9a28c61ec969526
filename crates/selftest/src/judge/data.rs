//! The controls and variants as data: kernel files and the edits to them.
//!
//! The format is documented in `controls/README.md`.

use std::{collections::BTreeMap, fs, path::Path};

use include_dir::{Dir, include_dir};
use kgen_record::{DType, Precision, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../controls");

/// Name of a sheet's kernel where that is the builtin baseline of each op.
const BASELINE: &str = "baseline";

/// The file of the functions that edits may use.
const HELPERS: &str = "helpers.toml";

/// The file of the lists that sheets may include.
const PARTS: &str = "parts.toml";

/// The end of a kernel file's plan, behind which helpers are put.
const PLAN_END: &str = "@*/\n";

/// Element types that a file is judged in unless it says otherwise.
const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// Whether a kernel is to fail or to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Wrong in one way.
    Control,
    /// Right.
    Variant,
}

/// One kernel for one op in one element type, with what the judge is to say.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Item {
    /// `family/mechanism/op/dtype`.
    pub id: String,
    /// Whether it is to fail or to pass.
    pub kind: Kind,
    /// The family of ops.
    pub family: String,
    /// In which way it is wrong or unusual.
    pub mechanism: String,
    /// Why it is wrong or right, in one sentence.
    pub why: String,
    pub op: String,
    /// Element type of the cases.
    pub dtype: DType,
    /// The suite that the cases come from; `None` for the default one.
    pub suite: Option<String>,
    /// The precision that it is judged under.
    pub precision: Precision,
    /// The verdicts that are right.
    pub expect: Vec<Verdict>,
    /// Only the emulator sees what is wrong: a GPU's results may be right.
    pub emulator_only: bool,
    /// Only a GPU shows what is wrong: on the emulator it may pass.
    pub gpu_only: bool,
    /// On a GPU it is judged on the realistic cases too, and timed.
    pub timed: bool,
    /// The known gap of the judge, in one sentence, where it is wrong about this item.
    pub open: Option<String>,
    /// The kernel file.
    #[serde(skip)]
    pub kernel: String,
}

/// A fault of the data, with the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("controls/{file}: {reason}")]
pub struct DataError {
    file: String,
    reason: String,
}

/// A TOML file of controls and variants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    family: String,
    kernel: String,
    #[serde(default = "all_dtypes")]
    dtypes: Vec<DType>,
    /// Ops that each entry is judged on per element type, taken in turn; absent: all.
    per_dtype: Option<usize>,
    /// Op name to what its placeholders stand for.
    ops: BTreeMap<String, BTreeMap<String, String>>,
    /// The suite of the cases, where the sheet's kernels do not take those of the default one.
    suite: Option<String>,
    /// On a GPU its kernels are judged on the realistic cases too, and timed.
    #[serde(default)]
    timed: bool,
    /// Lists of `parts.toml` that come before the sheet's own.
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    control: Vec<Entry>,
    #[serde(default)]
    variant: Vec<Entry>,
}

fn all_dtypes() -> Vec<DType> {
    DTYPES.to_vec()
}

/// Controls and variants that several sheets share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    #[serde(default)]
    control: Vec<Entry>,
    #[serde(default)]
    variant: Vec<Entry>,
}

/// One edit of a kernel.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    mechanism: String,
    why: String,
    /// Pairs of a text that occurs once and what replaces it.
    #[serde(default)]
    edit: Vec<[String; 2]>,
    /// Functions of `helpers.toml` that the edits call.
    #[serde(default, rename = "use")]
    helpers: Vec<String>,
    /// Another kernel file than the sheet's.
    kernel: Option<String>,
    ops: Option<Vec<String>>,
    dtypes: Option<Vec<DType>>,
    /// The precision that it is judged under.
    #[serde(default)]
    precision: Precision,
    #[serde(default = "wrong_output")]
    expect: Vec<Verdict>,
    #[serde(default)]
    emulator_only: bool,
    #[serde(default)]
    gpu_only: bool,
    open: Option<Open>,
}

/// A known mistake of the judge about an entry.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Open {
    why: String,
    ops: Option<Vec<String>>,
    dtypes: Option<Vec<DType>>,
}

impl Open {
    fn holds(&self, op: &str, dtype: DType) -> bool {
        self.ops.as_ref().is_none_or(|ops| ops.iter().any(|known| known == op))
            && self.dtypes.as_ref().is_none_or(|dtypes| dtypes.contains(&dtype))
    }
}

fn wrong_output() -> Vec<Verdict> {
    vec![Verdict::WrongOutput]
}

/// Texts of the files by name.
type Files = BTreeMap<String, String>;

/// Returns all controls and variants that come with kgen, in the order of the files.
///
/// The unedited kernel of each file is a variant of its own, `plain`.
///
/// # Errors
///
/// [`DataError`] where a file is malformed or an edit does not fit its kernel.
pub fn items() -> Result<Vec<Item>, DataError> {
    let text = |file: &include_dir::File<'_>| {
        Some((file.path().to_str()?.to_owned(), file.contents_utf8()?.to_owned()))
    };
    items_of(&FILES.files().filter_map(text).collect())
}

/// Returns the controls and variants of a folder, in the order of its files.
///
/// # Errors
///
/// As [`items`], and where the folder cannot be read.
pub fn items_in(folder: &Path) -> Result<Vec<Item>, DataError> {
    let fail = |error: std::io::Error| DataError {
        file: folder.display().to_string(),
        reason: error.to_string(),
    };
    let mut files = Files::new();
    for entry in fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if let (Ok(name), true) = (entry.file_name().into_string(), entry.path().is_file()) {
            files.insert(name, fs::read_to_string(entry.path()).map_err(fail)?);
        }
    }
    items_of(&files)
}

fn items_of(files: &Files) -> Result<Vec<Item>, DataError> {
    let texts = Texts { files, helpers: shared(files, HELPERS)?, parts: shared(files, PARTS)? };
    let mut items = Vec::new();
    let is_sheet = |name: &&String| name.ends_with(".toml") && *name != HELPERS && *name != PARTS;
    for file in files.keys().filter(is_sheet) {
        let sheet: Sheet = read(files, file)?;
        let fail = |reason| DataError { file: file.clone(), reason };
        items.extend(sheet.items(&texts).map_err(fail)?);
    }
    Ok(items)
}

/// Reads a file that sheets may refer to; a folder without it has nothing to share.
fn shared<T: for<'de> Deserialize<'de> + Default>(
    files: &Files,
    file: &str,
) -> Result<T, DataError> {
    if files.contains_key(file) { read(files, file) } else { Ok(T::default()) }
}

fn read<T: for<'de> Deserialize<'de>>(files: &Files, file: &str) -> Result<T, DataError> {
    let fail = |reason| DataError { file: file.to_owned(), reason };
    let text = files.get(file).ok_or_else(|| fail("there is no such file".to_owned()))?;
    toml::from_str(text).map_err(|error| fail(error.to_string()))
}

/// The files that sheets refer to.
struct Texts<'a> {
    files: &'a Files,
    helpers: Helpers,
    parts: BTreeMap<String, Part>,
}

/// Functions of `helpers.toml` by name.
type Helpers = BTreeMap<String, String>;

impl Sheet {
    fn items(&self, texts: &Texts<'_>) -> Result<Vec<Item>, String> {
        let plain = Entry {
            mechanism: "plain".to_owned(),
            why: "the honest kernel that the others are edits of".to_owned(),
            edit: Vec::new(),
            helpers: Vec::new(),
            kernel: None,
            ops: None,
            dtypes: None,
            precision: Precision::Strict,
            expect: Vec::new(),
            emulator_only: false,
            gpu_only: false,
            open: None,
        };
        let mut items = self.of_entry(Kind::Variant, &plain, 0, self.per_dtype, texts)?;
        let mut entries: Vec<(Kind, &Entry)> = Vec::new();
        for name in &self.include {
            let part = texts.parts.get(name).ok_or_else(|| format!("no part `{name}`"))?;
            entries.extend(part.control.iter().map(|entry| (Kind::Control, entry)));
            entries.extend(part.variant.iter().map(|entry| (Kind::Variant, entry)));
        }
        entries.extend(self.control.iter().map(|entry| (Kind::Control, entry)));
        entries.extend(self.variant.iter().map(|entry| (Kind::Variant, entry)));
        for (turn, (kind, entry)) in entries.into_iter().enumerate() {
            items.extend(self.of_entry(kind, entry, turn, self.per_dtype, texts)?);
        }
        Ok(items)
    }

    /// Returns an entry for each of its ops and element types.
    fn of_entry(
        &self,
        kind: Kind,
        entry: &Entry,
        turn: usize,
        per_dtype: Option<usize>,
        texts: &Texts<'_>,
    ) -> Result<Vec<Item>, String> {
        let at = |reason: String| format!("`{}`: {reason}", entry.mechanism);
        let ops: Vec<&String> = match &entry.ops {
            Some(ops) => ops.iter().collect(),
            None => self.ops.keys().collect(),
        };
        let dtypes = entry.dtypes.as_ref().unwrap_or(&self.dtypes);
        let mut items = Vec::new();
        for (index, &dtype) in dtypes.iter().enumerate() {
            let n = per_dtype.map_or(ops.len(), |n| n.min(ops.len()));
            for op in (0..n).map(|k| ops[(turn + index * n + k) % ops.len()]) {
                let kernel = self.kernel(entry, op, texts).map_err(at)?;
                items.push(self.item(kind, entry, op, dtype, kernel));
            }
        }
        Ok(items)
    }

    /// Returns the text of an entry's kernel file for an op.
    fn kernel(&self, entry: &Entry, op: &str, texts: &Texts<'_>) -> Result<String, String> {
        let words = self.ops.get(op).ok_or_else(|| format!("no op `{op}` in this file"))?;
        let file = entry.kernel.as_ref().unwrap_or(&self.kernel);
        let kernel = if file == BASELINE {
            kgen_baseline::builtin(op).map(str::to_owned)
        } else {
            texts.files.get(file).cloned()
        };
        let mut kernel = kernel.ok_or_else(|| format!("no file `{file}` for `{op}`"))?;
        let fill = |kernel: &str| {
            let filled = words.iter().fold(kernel.to_owned(), |kernel, (word, text)| {
                kernel.replace(&format!("@{word}@"), text)
            });
            without_placeholders(&filled)
        };
        kernel = fill(&kernel);
        for [find, replace] in &entry.edit {
            match kernel.matches(find.as_str()).count() {
                1 => kernel = kernel.replacen(find.as_str(), replace, 1),
                n => return Err(format!("`{find}` occurs {n} times in `{file}` for `{op}`")),
            }
        }
        kernel = fill(&kernel);
        for name in &entry.helpers {
            let helper = texts.helpers.get(name).ok_or_else(|| format!("no helper `{name}`"))?;
            kernel = kernel.replacen(PLAN_END, &format!("{PLAN_END}{helper}"), 1);
        }
        Ok(kernel)
    }

    fn item(&self, kind: Kind, entry: &Entry, op: &str, dtype: DType, kernel: String) -> Item {
        let passes = kind == Kind::Variant;
        let open = entry.open.as_ref().filter(|open| open.holds(op, dtype));
        Item {
            id: format!("{}/{}/{op}/{dtype}", self.family, entry.mechanism),
            kind,
            family: self.family.clone(),
            mechanism: entry.mechanism.clone(),
            why: entry.why.clone(),
            op: op.to_owned(),
            dtype,
            suite: self.suite.clone(),
            precision: entry.precision,
            expect: if passes { vec![Verdict::Passed] } else { entry.expect.clone() },
            emulator_only: entry.emulator_only,
            gpu_only: entry.gpu_only,
            timed: self.timed,
            open: open.map(|open| open.why.clone()),
            kernel,
        }
    }
}

/// Drops the placeholders `@NAME@` that an op gives no text for.
fn without_placeholders(kernel: &str) -> String {
    let mut out = String::new();
    let mut rest = kernel;
    while let Some(at) = rest.find('@') {
        let word = &rest[at + 1..];
        let len = word.find(|c: char| !c.is_ascii_uppercase()).unwrap_or(word.len());
        out.push_str(&rest[..at]);
        if len > 0 && word[len..].starts_with('@') {
            rest = &word[len + 1..];
        } else {
            out.push('@');
            rest = word;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_data_are_whole() {
        let items = items().unwrap();
        let mut ids = BTreeSet::new();
        for item in &items {
            assert!(ids.insert(&item.id), "{} is there twice", item.id);
            assert!(!item.why.is_empty() && !item.why.ends_with('.'), "{}: {}", item.id, item.why);
            assert!(!item.kernel.contains('@') || item.kernel.contains("/*@plan"), "{}", item.id);
            let passes = item.expect.contains(&Verdict::Passed);
            assert_eq!(passes, item.kind == Kind::Variant, "{}", item.id);
        }
    }

    #[test]
    fn an_edit_must_fit_its_kernel() {
        let with = |find: &str| {
            let sheet = format!(
                "family = \"unary\"\nkernel = \"k.cu\"\nops.relu = {{ F = \"x\" }}\n[[control]]\n\
                 mechanism = \"m\"\nwhy = \"w\"\nedit = [[\"{find}\", \"y\"]]"
            );
            let kernel = "/*@plan\nlaunch()\n@*/\nF@F@, G@G@;";
            let files = [("a.toml", sheet.as_str()), ("k.cu", kernel)];
            items_of(&files.map(|(name, text)| (name.to_owned(), text.to_owned())).into())
        };
        assert_eq!(
            with("no such text").unwrap_err().to_string(),
            "controls/a.toml: `m`: `no such text` occurs 0 times in `k.cu` for `relu`"
        );
        let edited = with("Fx").unwrap();
        let last_lines: Vec<_> =
            edited.iter().map(|item| item.kernel.lines().last().unwrap()).collect();
        // The plain variant in each element type, then the control.
        assert_eq!(last_lines, ["Fx, G;", "Fx, G;", "Fx, G;", "y, G;", "y, G;", "y, G;"]);
    }
}
