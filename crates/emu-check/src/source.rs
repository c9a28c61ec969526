//! Kernels of the corpus, compiled as a candidate is.

use kgen_compile::{CompileError, CompileJob, Compiled, Compiler};

use super::Error;

/// A compiled kernel of the corpus.
#[derive(Debug)]
pub(super) struct Built {
    /// Name of the kernel in the module.
    pub(super) entry: String,
    /// PTX, CUBIN and what belongs to them.
    pub(super) compiled: Compiled,
}

/// Compiles the kernel `entry` of a source for an architecture.
///
/// `alias` renames the kernel, so that tools that report by name tell mutants apart.
pub(super) fn build(
    compiler: &Compiler,
    source: &str,
    entry: &str,
    alias: Option<&str>,
    arch: &str,
) -> Result<Built, Error> {
    let (name, rest) = split_entry(entry);
    let source = match alias {
        Some(alias) => &renamed(source, name, alias),
        None => source,
    };
    let job = CompileJob { source, defines: &[], types: &[], kernels: &[], arch };
    match compiler.compile(&job) {
        Ok(compiled) => {
            let entry = match (alias, rest) {
                (None, _) => entry.to_owned(),
                (Some(alias), None) => alias.to_owned(),
                (Some(alias), Some(rest)) => format!("_Z{}{alias}{rest}", alias.len()),
            };
            Ok(Built { entry, compiled })
        }
        Err(CompileError::Machine(error)) => Err(error.into()),
        Err(CompileError::Failed(diagnostics)) => {
            let lines: Vec<_> = diagnostics
                .iter()
                .map(|said| match said.line {
                    Some(line) => format!("line {line}: {}", said.message),
                    None => said.message.clone(),
                })
                .collect();
            Err(Error::Source { kernel: entry.to_owned(), reason: lines.join("; ") })
        }
    }
}

/// Renames a kernel in its source; what has its name in a namespace is something else.
fn renamed(source: &str, name: &str, alias: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(name) {
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        text.push_str(before);
        let is_part = text.ends_with(is_word) || behind.starts_with(is_word);
        text.push_str(if is_part || text.ends_with("::") { name } else { alias });
        rest = behind;
    }
    text + rest
}

/// Splits the name of a kernel in its module into the name in the source and, where it is mangled,
/// what follows that.
fn split_entry(entry: &str) -> (&str, Option<&str>) {
    let mangled = || {
        let text = entry.strip_prefix("_Z")?;
        let n_digits = text.find(|c: char| !c.is_ascii_digit())?;
        let (length, text) = text.split_at(n_digits);
        text.split_at_checked(length.parse().ok()?)
    };
    mangled().map_or((entry, None), |(name, rest)| (name, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::{renamed, split_entry};

    #[test]
    fn a_kernel_is_renamed_and_nothing_that_has_its_name_in_it() {
        let source = "void copy(int copy_of) { kg::copy(copies, bulk_copy); } // copy";
        let wanted = "void m__1(int copy_of) { kg::copy(copies, bulk_copy); } // m__1";
        assert_eq!(renamed(source, "copy", "m__1"), wanted);
    }

    #[test]
    fn mangled_names_are_taken_apart() {
        assert_eq!(split_entry("relu"), ("relu", None));
        assert_eq!(split_entry("_Z4reluILi256EEvPf"), ("relu", Some("ILi256EEvPf")));
        assert_eq!(split_entry("_Z99x"), ("_Z99x", None));
    }
}
