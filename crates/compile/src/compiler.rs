//! Compiles kernel files.

use std::path::{Path, PathBuf};

use kgen_profile::sass::SassMix;
use kgen_record::{DType, Diagnostic, Finding, Resources, Severity, Signature};
use serde::{Deserialize, Serialize};

use super::{
    Error, Toolchain,
    cache::Cache,
    cutlass,
    guard::source::blank_comments,
    loader,
    log::{self, Log},
    nvrtc::{self, Header, Product},
    prelude, signature,
    tools::Disassembler,
    watch::{Compiling, EACH_BYTES, EACH_CUTLASS_BYTES},
};

/// A kernel file to compile, with its macros, kernels and architecture.
#[derive(Debug, Clone, Copy)]
pub struct CompileJob<'a> {
    /// The kernel file.
    pub source: &'a str,
    /// Macros of the plan: name and value.
    pub defines: &'a [(String, String)],
    /// Type macros: name (`T_self`) and element type.
    pub types: &'a [(String, DType)],
    /// The kernels that the plan launches: names, or instances such as `relu<float, 4>`.
    pub kernels: &'a [String],
    /// The architecture, for example `sm_90a`.
    pub arch: &'a str,
}

/// A compiled kernel file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compiled {
    /// The PTX.
    pub ptx: String,
    /// The CUBIN for [`CompileJob::arch`].
    #[serde(with = "base64_bytes")]
    pub cubin: Vec<u8>,
    /// Warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// Resources of every kernel in the module, under the plan's name where it launches it.
    pub resources: Vec<Resources>,
    /// Types of the kernels that were asked for, in that order.
    pub signatures: Vec<Signature>,
    /// Names of the same kernels in the module, in the same order.
    pub entries: Vec<String>,
    /// Whether it came out of the cache.
    #[serde(skip)]
    pub from_cache: bool,
}

impl Compiled {
    /// Returns the name in the module of a kernel that the plan names.
    #[must_use]
    pub fn entry(&self, kernel: &str) -> Option<&str> {
        let index = self.signatures.iter().position(|signature| signature.kernel == kernel)?;
        self.entries.get(index).map(String::as_str)
    }
}

/// Stores bytes as base64 text.
mod base64_bytes {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(input)?).map_err(D::Error::custom)
    }
}

/// Why there is no product.
#[derive(Debug)]
pub enum CompileError {
    /// The source is at fault: a verdict.
    Failed(Vec<Diagnostic>),
    /// The toolchain is at fault: an error.
    Machine(Error),
}

impl From<Error> for CompileError {
    fn from(error: Error) -> Self {
        Self::Machine(error)
    }
}

/// NVRTC, loaded into this process.
#[derive(Debug)]
pub struct Compiler {
    version: (u32, u32),
    include_dirs: Vec<PathBuf>,
    /// The headers of CUTLASS.
    cutlass: Option<PathBuf>,
    cache: Option<Cache>,
    disassembler: Disassembler,
}

impl Compiler {
    /// Loads the toolchain's NVRTC. A process can use one NVRTC only; opening the same again is
    /// free.
    ///
    /// `cache_dir`: where products are kept; `None` compiles every time.
    ///
    /// # Errors
    ///
    /// [`Error::Load`] when the library cannot be loaded or another one is in use.
    pub fn open(toolchain: &Toolchain, cache_dir: Option<PathBuf>) -> Result<Self, Error> {
        loader::load(&toolchain.nvrtc)?;
        Ok(Self {
            version: nvrtc::version()?,
            include_dirs: toolchain.include_dirs.clone(),
            cutlass: toolchain.cutlass.clone(),
            cache: cache_dir.map(Cache::new),
            disassembler: Disassembler::here(),
        })
    }

    /// Sets the way to nvdisasm.
    #[must_use]
    pub fn with_disassembler(self, disassembler: Disassembler) -> Self {
        Self { disassembler, ..self }
    }

    /// Returns NVRTC's version, major and minor.
    #[must_use]
    pub const fn version(&self) -> (u32, u32) {
        self.version
    }

    /// Compiles a kernel file that passed [`super::guard_source`].
    ///
    /// # Errors
    ///
    /// [`CompileError::Failed`] with the diagnostics of the compiler or the assembler;
    /// [`CompileError::Machine`] when NVRTC itself does not work.
    pub fn compile(&self, job: &CompileJob<'_>) -> Result<Compiled, CompileError> {
        let code = blank_comments(job.source).map_err(|finding| failed(&finding))?;
        let names = names_of(job, &code)?;
        let macros = macros(job)?;
        let headers = prelude::headers(job.types.iter().map(|(_, dtype)| *dtype), &code, &macros);
        let folders = self.folders(&code)?;
        let options = options(job, &folders);
        let key = Cache::key(self.version, &code, &headers, &options, &names);
        if let Some(mut hit) = self.cache.as_ref().and_then(|cache| cache.get(&key)) {
            hit.from_cache = true;
            return Ok(hit);
        }
        let compiled = compile_now(job, &code, &headers, &folders, &options, &names)?;
        if let Some(cache) = &self.cache {
            cache.put(&key, &compiled);
        }
        Ok(compiled)
    }

    /// Counts the machine code of a module; `None` where no nvdisasm is found or it does not
    /// understand the code.
    #[must_use]
    pub fn disassemble(&self, cubin: &[u8]) -> Option<Vec<SassMix>> {
        self.disassembler.count(cubin)
    }

    /// Returns the folders of headers that a source needs.
    fn folders(&self, code: &str) -> Result<Vec<&Path>, Error> {
        let mut folders = Vec::new();
        if cutlass::is_included(code) {
            folders.push(self.cutlass.as_deref().ok_or(Error::NoCutlass)?);
        }
        folders.extend(self.include_dirs.iter().map(PathBuf::as_path));
        Ok(folders)
    }
}

fn compile_now(
    job: &CompileJob<'_>,
    code: &str,
    headers: &[Header],
    folders: &[&Path],
    options: &[String],
    names: &[String],
) -> Result<Compiled, CompileError> {
    let has_cutlass = cutlass::is_included(code);
    let compiling = Compiling::begin(if has_cutlass { EACH_CUTLASS_BYTES } else { EACH_BYTES });
    let output = compile_text(code, headers, options, names)?;
    drop(compiling);
    let folders: Vec<String> = folders.iter().map(|dir| format!("{}/", dir.display())).collect();
    let log = log::read(&output.log, job.source, &folders);
    match output.product {
        Some(product) => Ok(finish(job, product, log)),
        None => Err(CompileError::Failed(explain(job, code, log))),
    }
}

/// Leaves textures, device-side runtime calls and the runtime's types out of NVRTC's own declarations, whose
/// parsing is half of the time that a small kernel takes. Small kernels need none of them.
const MINIMAL: &str = "--minimal";

/// Compiles with the fewest declarations that the source gets along with.
fn compile_text(
    code: &str,
    headers: &[Header],
    options: &[String],
    names: &[String],
) -> Result<nvrtc::Output, Error> {
    if code.lines().filter_map(prelude::included).all(prelude::needs_no_runtime) {
        let minimal: Vec<String> = options.iter().cloned().chain([MINIMAL.to_owned()]).collect();
        let output = nvrtc::compile(code, headers, &minimal, names)?;
        if output.product.is_some() {
            return Ok(output);
        }
    }
    nvrtc::compile(code, headers, options, names)
}

/// Returns NVRTC's options.
fn options(job: &CompileJob<'_>, folders: &[&Path]) -> Vec<String> {
    let mut options: Vec<String> = [
        "-lineinfo",
        "-default-device",
        "--std=c++17",
        "--ptxas-options=-v",
        // Unused variables and parameters are noise in kernels with several variants.
        "-diag-suppress=177",
        "-diag-suppress=550",
    ]
    .map(str::to_owned)
    .into();
    options.push(format!("--gpu-architecture={}", job.arch));
    options.push(format!("--pre-include={}", prelude::PRELUDE));
    options.extend(folders.iter().map(|dir| format!("-I{}", dir.display())));
    for (name, dtype) in job.types {
        options.push(format!("-D{name}={}", dtype.cuda_type()));
    }
    options
}

/// Returns the macros of the plan, checked.
fn macros<'a>(job: &CompileJob<'a>) -> Result<Vec<(&'a str, &'a str)>, CompileError> {
    for (name, value) in job.defines {
        if job.types.iter().any(|(taken, _)| taken == name) {
            return Err(failed(&Finding::new(format!(
                "the plan defines `{name}`, which is kgen's type macro"
            ))));
        }
        check_macro(name, value)?;
    }
    Ok(job.defines.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect())
}

fn check_macro(name: &str, value: &str) -> Result<(), CompileError> {
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_value = value.len() <= 256
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "_ .+-*/%<>()=!&|,:".contains(c));
    // Neither a comment, which would swallow the rest, nor a `#` under another spelling.
    let is_plain = !["/*", "//", "%:"].iter().any(|odd| value.contains(odd));
    if is_name && is_value && is_plain {
        Ok(())
    } else {
        Err(failed(&Finding::new(format!(
            "`{name}` cannot be defined as `{value}`: a macro of a plan has a plain name and a \
             number or a plain expression as its value"
        ))))
    }
}

/// Turns a refusal into a diagnostic.
fn failed(finding: &Finding) -> CompileError {
    let line = finding.span.as_ref().map(|span| span.line);
    let source_line = finding.span.as_ref().map(|span| span.text.clone());
    let message = finding.message.clone();
    CompileError::Failed(vec![Diagnostic { line, severity: Severity::Error, message, source_line }])
}

fn error(message: String) -> Diagnostic {
    Diagnostic { line: None, severity: Severity::Error, message, source_line: None }
}

/// Returns the name expressions: all kernels' own names, then all their types.
fn names_of(job: &CompileJob<'_>, code: &str) -> Result<Vec<String>, CompileError> {
    if let Some(bad) = job.kernels.iter().find(|name| !signature::is_kernel_name(name)) {
        let known = list_kernels(code);
        let message = format!("`{bad}` is no kernel name; {known}");
        return Err(CompileError::Failed(vec![error(message)]));
    }
    let entries = job.kernels.iter().map(|name| signature::entry_expression(name));
    let types = job.kernels.iter().map(|name| signature::type_expression(name));
    Ok(entries.chain(types).collect())
}

/// Builds the result of a success.
fn finish(job: &CompileJob<'_>, product: Product, log: Log) -> Compiled {
    let (entries, types) = product.lowered.split_at(job.kernels.len());
    let signatures = job.kernels.iter().zip(types).map(|(kernel, lowered)| {
        // A type that cannot be read leaves no parameters; binding then refuses every argument.
        let params = signature::parameters(lowered).unwrap_or_default();
        Signature { kernel: kernel.clone(), params }
    });
    let mut resources = log.resources;
    for resource in &mut resources {
        if let Some(index) = entries.iter().position(|entry| *entry == resource.kernel) {
            resource.kernel.clone_from(&job.kernels[index]);
        }
    }
    Compiled {
        signatures: signatures.collect(),
        entries: entries.to_vec(),
        ptx: product.ptx,
        cubin: product.cubin,
        diagnostics: log.diagnostics,
        resources,
        from_cache: false,
    }
}

/// Static shared memory that any GPU gives a block, in bytes.
const STATIC_SMEM_MAX: u32 = 48 << 10;

/// Explains why NVRTC refused a source.
fn explain(job: &CompileJob<'_>, code: &str, log: Log) -> Vec<Diagnostic> {
    let mut diagnostics = log.diagnostics;
    let has_error = |diagnostics: &[Diagnostic]| {
        diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    };
    if !has_error(&diagnostics) {
        // The assembler refuses too much shared memory without a word.
        diagnostics.extend(log.resources.iter().filter(|r| r.smem_bytes > STATIC_SMEM_MAX).map(
            |r| {
                error(format!(
                    "kernel `{}` has {} bytes of static shared memory, more than the limit of \
                 {STATIC_SMEM_MAX}: use `extern __shared__` and `smem=` in the plan's launch",
                    r.kernel, r.smem_bytes
                ))
            },
        ));
    }
    if !has_error(&diagnostics) {
        diagnostics.extend(explain_names(job, code, &log.names));
    }
    if !has_error(&diagnostics) {
        diagnostics.push(error("the compiler refused the source without saying why".to_owned()));
    }
    diagnostics
}

/// Says which kernel names of the plan do not fit the source.
fn explain_names(job: &CompileJob<'_>, code: &str, messages: &[String]) -> Vec<Diagnostic> {
    let known = list_kernels(code);
    let about = |kernel: &str, text: &str| {
        let bare = kernel.split('<').next().unwrap_or(kernel);
        text.contains(&format!("\"{bare}\"")) || text.contains(&format!("& {bare}\""))
    };
    let mut found: Vec<Diagnostic> = Vec::new();
    for kernel in job.kernels {
        let Some(message) = messages.iter().find(|message| about(kernel, message)) else {
            continue;
        };
        let reason = if message.contains("overloaded") {
            "is overloaded: give each kernel a name of its own"
        } else if message.contains("function template") {
            "is a template: name an instance, such as `name<float, 4>`"
        } else if message.contains("non-__global__") {
            "is no __global__ function"
        } else {
            "does not exist"
        };
        found.push(error(format!("the plan launches `{kernel}`, which {reason}; {known}")));
    }
    if found.is_empty() && !messages.is_empty() {
        let names = job.kernels.join("`, `");
        found.push(error(format!("the plan launches `{names}`: {}; {known}", messages[0])));
    }
    found
}

fn list_kernels(code: &str) -> String {
    let kernels = signature::kernels_of(code);
    if kernels.is_empty() {
        "the file defines no kernel".to_owned()
    } else {
        format!("the file defines `{}`", kernels.join("`, `"))
    }
}

#[cfg(test)]
mod tests;
