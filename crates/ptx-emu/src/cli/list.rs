//! Shows the contents of a PTX file.

use std::fmt::Write as _;

use ptx_emu::Usage;

use super::{Result, names, run};

/// Kernels with parameters and memory, then instructions that are not known.
pub(super) fn list(path: &str) -> Result<String> {
    let module = run::module(path)?;
    let mut out = String::new();
    if module.kernels().next().is_none() {
        out.push_str("no kernels\n");
    }
    for name in module.kernels() {
        if let Some(usage) = module.usage(name) {
            kernel(&mut out, name, &usage);
        }
    }
    let unknown = module.unknown_instructions();
    if unknown.is_empty() {
        out.push_str("all instructions are known\n");
    }
    for message in unknown {
        _ = writeln!(out, "{message}");
    }
    Ok(out)
}

fn kernel(out: &mut String, name: &str, usage: &Usage) {
    let readable = names::demangled(name);
    out.push_str(&readable);
    if readable != name {
        _ = write!(out, "  [{name}]");
    }
    let types = names::parameter_types(&readable);
    let params: Vec<String> = usage
        .params
        .iter()
        .enumerate()
        .map(|(i, size)| {
            let known = types.len() == usage.params.len();
            format!("{} ({size} bytes)", if known { types[i] } else { "?" })
        })
        .collect();
    let params = if params.is_empty() { "none".to_owned() } else { params.join(", ") };
    let dynamic = if usage.dynamic_shared { " and what --smem gives" } else { "" };
    _ = writeln!(out, "\n  parameters  {params}");
    _ = writeln!(out, "  shared      {} bytes{dynamic}", usage.shared_bytes);
    _ = writeln!(out, "  local       {} bytes per thread", usage.local_bytes);
    _ = writeln!(out, "  code        {} operations", usage.operations);
}
