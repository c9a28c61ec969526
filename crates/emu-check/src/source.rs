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
    let defines: Vec<_> =
        alias.iter().map(|alias| (name.to_owned(), (*alias).to_owned())).collect();
    let job = CompileJob { source, defines: &defines, types: &[], kernels: &[], arch };
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
    use super::split_entry;

    #[test]
    fn mangled_names_are_taken_apart() {
        assert_eq!(split_entry("relu"), ("relu", None));
        assert_eq!(split_entry("_Z4reluILi256EEvPf"), ("relu", Some("ILi256EEvPf")));
        assert_eq!(split_entry("_Z99x"), ("_Z99x", None));
    }
}
