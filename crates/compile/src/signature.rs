//! Parameter types of kernels, out of lowered names.
//!
//! PTX shows only the widths of parameters. But the lowered name of `kg::sig<decltype(&relu)>`
//! (a declared template of the prelude) spells the type of `relu` whole.

use cpp_demangle::{DemangleOptions, Symbol};
use kgen_record::{DType, ParamType};

/// Returns the name expression whose lowered name spells a kernel's type.
pub(super) fn type_expression(kernel: &str) -> String {
    format!("&kg::sig<decltype(&{kernel})>")
}

/// Returns the name expression whose lowered name is the kernel's own.
pub(super) fn entry_expression(kernel: &str) -> String {
    format!("&{kernel}")
}

/// Returns whether a name can be the name of a kernel or of an instance of a kernel template, and
/// nothing else: it becomes part of a name expression.
pub(super) fn is_kernel_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.len() <= 256
        && name.chars().all(|c| plain(c) || "<>,: *-".contains(c))
        && (name.chars().all(plain) || name.contains('<') || name.contains("::"))
}

/// Reads the parameter types out of the lowered name of [`type_expression`].
///
/// `None` when the name has another form.
pub(super) fn parameters(lowered: &str) -> Option<Vec<ParamType>> {
    let readable = demangle(lowered)?;
    let function = readable.split_once("kg::sig<")?.1.rsplit_once(">(")?.0;
    let list = function.split_once("(*)(")?.1.strip_suffix(')')?;
    Some(split_top_level(list).into_iter().map(parameter).collect())
}

/// Returns the C++ spelling of a lowered name; `None` when it is not mangled.
pub(super) fn demangle(lowered: &str) -> Option<String> {
    // A plain `g` would be read as the code of a type.
    let mangled = lowered.starts_with("_Z").then_some(lowered)?;
    Symbol::new(mangled).ok()?.demangle(&DemangleOptions::new()).ok()
}

/// Splits at the commas outside of brackets; nothing and `void` are an empty list.
fn split_top_level(list: &str) -> Vec<&str> {
    if matches!(list.trim(), "" | "void") {
        return Vec::new();
    }
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts
}

fn parameter(name: &str) -> ParamType {
    let int = |bits, signed| ParamType::Int { bits, signed };
    if let Some(pointee) = name.strip_suffix('*').map(str::trim_end) {
        if !pointee.contains(['*', '(', '&']) {
            let bare = pointee
                .split_whitespace()
                .filter(|word| !matches!(*word, "const" | "volatile" | "__restrict" | "restrict"));
            let is_const = pointee.split_whitespace().any(|word| word == "const");
            return ParamType::Pointer { pointee: bare.collect::<Vec<_>>().join(" "), is_const };
        }
        return ParamType::Other { name: name.to_owned() };
    }
    match name {
        "bool" => ParamType::Bool,
        "char" | "signed char" => int(8, true),
        "unsigned char" => int(8, false),
        "short" => int(16, true),
        "unsigned short" => int(16, false),
        "int" => int(32, true),
        "unsigned int" => int(32, false),
        "long" | "long long" => int(64, true),
        "unsigned long" | "unsigned long long" => int(64, false),
        "double" => ParamType::Float { dtype: DType::F64 },
        "float" => ParamType::Float { dtype: DType::F32 },
        "__half" => ParamType::Float { dtype: DType::F16 },
        "__nv_bfloat16" => ParamType::Float { dtype: DType::BF16 },
        "CUtensorMap_st" => ParamType::TensorMap,
        other => ParamType::Other { name: other.to_owned() },
    }
}

/// Finds the names of the kernels that a source defines, for messages.
///
/// `code`: the source without comments. Templates are listed with their parameters' place shown.
pub(super) fn kernels_of(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in code.match_indices("__global__") {
        let Some(name) = declared_name(&code[at + word.len()..]) else { continue };
        let before = &code[..at];
        let statement = before.rfind([';', '}']).map_or(before, |end| &before[end + 1..]);
        let name = if statement.contains("template") { format!("{name}<...>") } else { name };
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Returns the identifier in front of the parameter list of a declaration.
fn declared_name(declaration: &str) -> Option<String> {
    let mut rest = declaration;
    loop {
        let open = rest.find('(')?;
        let head = rest[..open].trim_end();
        if head.contains([';', '{', '}']) {
            return None;
        }
        let start = head.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |p| p + 1);
        let name = &head[start..];
        if !matches!(name, "__launch_bounds__" | "__cluster_dims__" | "__attribute__" | "") {
            return Some(name.to_owned());
        }
        rest = &rest[open + 1..];
        let close = rest.find(')')?;
        rest = &rest[close + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lowered_name_spells_the_parameters() {
        let float = |is_const| ParamType::Pointer { pointee: "float".to_owned(), is_const };
        let params = parameters("_ZN2kg3sigIPFvPKfPfxEEEvv").unwrap();
        let expected = [float(true), float(false), ParamType::Int { bits: 64, signed: true }];
        assert_eq!(params, expected);
        assert_eq!(parameters("_ZN2kg3sigIPFvvEEEvv").unwrap(), []);
        assert!(parameters("relu").is_none());
        // The codes of `__float128` and `int`.
        assert_eq!((demangle("g"), demangle("i")), (None, None));
    }

    #[test]
    fn only_names_can_become_name_expressions() {
        for name in ["relu", "relu<float, 4>", "ns::relu", "k<T_self,VEC>", "_k2"] {
            assert!(is_kernel_name(name), "{name}");
        }
        for name in ["", "2k", "relu)", "a b", "relu;x", "a\"b", "*relu", "a-b"] {
            assert!(!is_kernel_name(name), "{name}");
        }
    }

    #[test]
    fn the_kernels_of_a_file_are_listed() {
        let code = "extern \"C\" __global__ void __launch_bounds__(256) relu(const float* x) {}\n\
                    template <int N> __global__ void tile(float* x) {}\n\
                    __device__ void helper(int) {}\n__global__\nvoid last(int n);";
        assert_eq!(kernels_of(code), ["relu", "tile<...>", "last"]);
    }
}
