//! Opcodes whose modifiers stand in another order than the PTX ISA prescribes.
//!
//! The assembler takes modifiers in any order, and compilers and inline assembly make use of it. Only
//! modifiers of one [`Class`] mean something by their order, and keep it.

use super::pattern::{Element, Pattern};

/// Modifiers of which an opcode may have several, which differ by their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Of result, sources, factors.
    Type,
    /// Of the matrices of a product.
    Layout,
    /// Of the destination and the source of a copy.
    Space,
}

impl Class {
    fn of(modifier: &str) -> Option<Self> {
        let space = modifier.split("::").next().unwrap_or("");
        match space {
            "row" | "col" => Some(Self::Layout),
            "const" | "global" | "local" | "param" | "shared" => Some(Self::Space),
            _ if is_type(modifier) => Some(Self::Type),
            _ => None,
        }
    }
}

/// Whether the modifier names a type, such as `bf16x2`, `s4` or `e4m3`.
fn is_type(modifier: &str) -> bool {
    let letters = modifier.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (head, tail) = modifier.split_at(letters);
    let named = matches!(head, "b" | "u" | "s" | "f" | "bf" | "tf" | "e" | "ue");
    modifier == "pred" || (named && tail.ends_with(|c: char| c.is_ascii_digit()))
}

impl Pattern {
    /// The modifiers in the pattern's order, if it stands for them in some order.
    pub(super) fn arrange<'a>(&self, modifiers: &[&'a str]) -> Option<Vec<&'a str>> {
        let mut arranged = Vec::with_capacity(modifiers.len());
        let mut rest = modifiers.to_vec();
        fit(self.elements(), &mut rest, &mut arranged).then_some(arranged)
    }
}

/// Moves modifiers to `arranged` as the elements ask for them; whether all of them were.
fn fit<'a>(elements: &[Element], rest: &mut Vec<&'a str>, arranged: &mut Vec<&'a str>) -> bool {
    let Some((first, elements)) = elements.split_first() else { return rest.is_empty() };
    first.alternatives().any(|wanted| {
        let (kept, mark) = (rest.clone(), arranged.len());
        let fits = wanted.iter().all(|w| take(w, rest, arranged)) && fit(elements, rest, arranged);
        if !fits {
            *rest = kept;
            arranged.truncate(mark);
        }
        fits
    })
}

/// Moves one modifier, unless another of its class stands before it.
fn take<'a>(wanted: &str, rest: &mut Vec<&'a str>, arranged: &mut Vec<&'a str>) -> bool {
    let Some(at) = rest.iter().position(|m| *m == wanted) else { return false };
    let class = Class::of(wanted);
    if class.is_some() && rest[..at].iter().any(|m| Class::of(m) == class) {
        return false;
    }
    arranged.push(rest.remove(at));
    true
}

#[cfg(test)]
mod tests {
    use super::super::{Decoder, find};

    #[test]
    fn modifiers_stand_in_any_order() {
        for (written, meant) in [
            (
                "ldmatrix.sync.aligned.x4.m8n8.shared.b16",
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
            ),
            ("ldmatrix.x2.trans.m8n8.aligned.sync.b16", "ldmatrix.sync.aligned.m8n8.x2.trans.b16"),
            ("ld.global.acquire.gpu.u32", "ld.acquire.gpu.global.u32"),
            ("div.ftz.rn.f32", "div.rn.ftz.f32"),
            ("fma.rn.f16x2.relu", "fma.rn.relu.f16x2"),
            ("set.eq.ftz.and.u32.f32", "set.eq.and.ftz.u32.f32"),
            (
                "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32.satfinite",
                "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32",
            ),
        ] {
            let mut decoder = Decoder::default();
            let decoded = decoder.decode(written);
            let parts = decoded.modifiers.parts.join(".");
            assert_eq!(format!("{}.{parts}", decoded.modifiers.name), meant);
            let found = find(written).map(|row| row.pattern());
            assert_eq!(found, find(meant).map(|row| row.pattern()), "{written}");
            assert!(found.is_some());
        }
    }

    #[test]
    fn types_layouts_and_spaces_keep_their_order() {
        for wrong in [
            "cvt.rn.f16.f32.f32",
            "cvt.f16.rn.s32.f64",
            "cvt.sat.f32.e4m3x2.satfinite.rn",
            "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
            "cp.async.ca.global.shared",
            "add.rn.rz.f32",
            "add.ftz.ftz.f32",
        ] {
            assert!(find(wrong).is_none(), "{wrong}");
        }
    }
}
