//! Names of kernels: from a user's spelling to the mangled name in the PTX.

use cpp_demangle::{DemangleOptions, Symbol};

use super::{Error, Result};

/// A kernel's name in C++, with its parameters, as far as it can be had.
pub(super) fn demangled(name: &str) -> String {
    // Other names may be those of types: `f` is `float`.
    if !name.starts_with("_Z") {
        return name.to_owned();
    }
    let text =
        Symbol::new(name).ok().and_then(|symbol| symbol.demangle(&DemangleOptions::default()).ok());
    text.unwrap_or_else(|| name.to_owned())
}

/// Where the parameter list of a demangled name opens.
fn parameters_at(name: &str) -> Option<usize> {
    let inner = name.strip_suffix(')')?;
    let mut depth = 0_i32;
    for (at, c) in inner.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => return Some(at),
            '(' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Types of the parameters of a demangled name.
pub(super) fn parameter_types(name: &str) -> Vec<&str> {
    let Some(open) = parameters_at(name) else { return Vec::new() };
    let list = &name[open + 1..name.len() - 1];
    let mut types = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in list.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                types.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    types.push(list[start..].trim());
    types.retain(|t| !t.is_empty());
    types
}

/// Names without parameters under which a kernel is known, the shortest last: with namespace and
/// template arguments, without these, without both.
fn plain(name: &str) -> [String; 3] {
    let demangled = demangled(name);
    let head = parameters_at(&demangled).map_or(demangled.as_str(), |at| &demangled[..at]);
    let mut bare = String::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, c) in head.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            // A template's name follows its return type.
            ' ' if depth == 0 => {
                start = at + 1;
                bare.clear();
            }
            _ if depth == 0 => bare.push(c),
            _ => {}
        }
    }
    let last = bare.rsplit("::").next().unwrap_or(&bare).to_owned();
    [head[start..].to_owned(), bare, last]
}

/// The kernel that `wanted` names, or the only one.
pub(super) fn find<'k>(kernels: &[&'k str], wanted: Option<&str>) -> Result<&'k str> {
    let Some(wanted) = wanted else {
        return match kernels {
            [one] => Ok(one),
            _ => Err(Error::usage(format!("--kernel is needed, one of: {}", listed(kernels)))),
        };
    };
    if let Some(exact) = kernels.iter().find(|k| **k == wanted) {
        return Ok(exact);
    }
    let meant = |k: &&&str| plain(k).iter().any(|p| p == wanted) || demangled(k) == wanted;
    let hits: Vec<&'k str> = kernels.iter().filter(meant).copied().collect();
    match hits.as_slice() {
        [one] => Ok(one),
        [] => {
            let near = kernels
                .iter()
                .map(|k| plain(k)[2].clone())
                .map(|name| (distance(&name, wanted), name))
                .min()
                .filter(|(off, name)| *off <= name.len().max(wanted.len()) / 2);
            let hint = match near {
                Some((_, name)) => format!("; did you mean `{name}`?"),
                None => format!("; there are: {}", listed(kernels)),
            };
            Err(Error::usage(format!("no kernel `{wanted}`{hint}")))
        }
        several => {
            let names: Vec<String> =
                several.iter().map(|k| format!("\n  {k}  {}", demangled(k))).collect();
            Err(Error::usage(format!("several kernels are called `{wanted}`:{}", names.concat())))
        }
    }
}

fn listed(kernels: &[&str]) -> String {
    let names: Vec<String> = kernels.iter().take(20).map(|k| plain(k)[2].clone()).collect();
    let more = if kernels.len() > 20 { ", .." } else { "" };
    names.join(", ") + more
}

/// Edits between two names (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let change = corner + usize::from(!x.eq_ignore_ascii_case(&y));
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{demangled, find, parameter_types};

    const KERNELS: [&str; 5] =
        ["_Z4reluPKfPfi", "_ZN2nn7softmaxIfLi4EEEvPT_i", "plain", "_Z3addPf", "_Z3addPd"];

    #[test]
    fn names_of_c_stay() {
        for name in ["f", "a", "i", "St", "saxpy"] {
            assert_eq!(demangled(name), name);
        }
    }

    #[test]
    fn plain_names_find_mangled_ones() {
        for (wanted, index) in [
            ("relu", 0),
            ("_Z4reluPKfPfi", 0),
            ("relu(float const*, float*, int)", 0),
            ("softmax", 1),
            ("nn::softmax", 1),
            ("nn::softmax<float, 4>", 1),
            ("plain", 2),
        ] {
            let found = find(&KERNELS, Some(wanted));
            assert_eq!(found.unwrap_or_else(|e| panic!("{}", e.message)), KERNELS[index]);
        }
    }

    #[test]
    fn wrong_names_get_help() {
        let message = |wanted| find(&KERNELS, wanted).expect_err("no such kernel").message;
        assert_eq!(message(Some("reul")), "no kernel `reul`; did you mean `relu`?");
        assert!(message(Some("add")).contains("add(double*)"));
        assert!(message(Some("zzzzzzzzzzzz")).contains("there are: relu, softmax, plain"));
        assert!(message(None).contains("--kernel is needed"));
    }

    #[test]
    fn types_of_parameters() {
        let name = demangled(KERNELS[0]);
        assert_eq!(parameter_types(&name), ["float const*", "float*", "int"]);
        assert_eq!(parameter_types("f(void (*)(int, int), A<b, c>)").len(), 2);
        assert!(parameter_types("plain").is_empty());
    }
}
