//! The notation of the instruction table: a regular set of opcodes in one line of text.
//!
//! `add{.rn,.rz}?{.ftz}?.f32` is a mnemonic followed by modifiers in the order the PTX ISA
//! prescribes. `{..,..}` is a choice, whose alternatives may have several modifiers
//! (`.xorsign.abs`); `?` makes it optional; `<int>` is a choice with a name ([`set`]).

/// The opcodes a row of the table stands for.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) base: &'static str,
    elements: Vec<Element>,
}

#[derive(Debug)]
pub(super) struct Element {
    /// Modifiers of each alternative; the empty one stands for absence.
    alternatives: Vec<Vec<String>>,
}

impl Element {
    /// Modifiers of each alternative.
    pub(super) fn alternatives(&self) -> impl Iterator<Item = &[String]> {
        self.alternatives.iter().map(Vec::as_slice)
    }
}

impl Pattern {
    pub(super) fn elements(&self) -> &[Element] {
        &self.elements
    }

    pub(super) fn new(text: &'static str) -> Self {
        let end = text.find(['.', '{', '<']).unwrap_or(text.len());
        let (base, mut rest) = text.split_at(end);
        let mut elements = Vec::new();
        while let Some(first) = rest.chars().next() {
            let (list, after) = match first {
                '{' => {
                    let (inside, after) = rest[1..].split_once('}').unwrap_or((&rest[1..], ""));
                    (inside.split(',').map(str::to_owned).collect(), after)
                }
                '<' => {
                    let (name, after) = rest[1..].split_once('>').unwrap_or((&rest[1..], ""));
                    (set(name), after)
                }
                _ => {
                    let end = rest[1..].find(['.', '{', '<']).map_or(rest.len(), |at| at + 1);
                    (vec![rest[..end].to_owned()], &rest[end..])
                }
            };
            let split = |a: &String| a.split('.').skip(1).map(str::to_owned).collect();
            let mut alternatives: Vec<Vec<String>> = list.iter().map(split).collect();
            rest = after;
            if let Some(after) = rest.strip_prefix('?') {
                alternatives.insert(0, Vec::new());
                rest = after;
            }
            elements.push(Element { alternatives });
        }
        Self { base, elements }
    }

    /// Whether the modifiers are among those the pattern stands for.
    pub(super) fn accepts(&self, modifiers: &[&str]) -> bool {
        fn fits(elements: &[Element], modifiers: &[&str]) -> bool {
            let Some((first, rest)) = elements.split_first() else { return modifiers.is_empty() };
            first.alternatives.iter().any(|a| {
                modifiers.len() >= a.len()
                    && a.iter().zip(modifiers).all(|(a, m)| a == m)
                    && fits(rest, &modifiers[a.len()..])
            })
        }
        fits(&self.elements, modifiers)
    }

    pub(super) fn count(&self) -> u64 {
        self.elements.iter().map(|e| e.alternatives.len() as u64).product()
    }

    /// Opcode number `n`, below [`Pattern::count`]; the last choice varies fastest.
    pub(super) fn opcode(&self, mut n: u64) -> String {
        let mut picks = Vec::new();
        for element in self.elements.iter().rev() {
            let len = element.alternatives.len() as u64;
            picks.push(&element.alternatives[(n % len) as usize]);
            n /= len;
        }
        let mut out = self.base.to_owned();
        for part in picks.into_iter().rev().flatten() {
            out.push('.');
            out.push_str(part);
        }
        out
    }
}

/// The alternatives of a named choice.
fn set(name: &str) -> Vec<String> {
    let list = match name {
        "int" => ".u16,.u32,.u64,.s16,.s32,.s64",
        "int8" => ".u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64",
        "wide" => ".u32,.u64,.s32,.s64",
        "rnd" => ".rn,.rz,.rm,.rp",
        "irnd" => ".rni,.rzi,.rmi,.rpi",
        "half" => ".f16,.f16x2",
        "bhalf" => ".bf16,.bf16x2",
        "layout" => ".row,.col",
        "wshape" => ".m16n16k16,.m8n32k16,.m32n8k16",
        "wspace" => ".global,.shared,.shared::cta",
        "f8" => ".e4m3,.e5m2",
        "f8x2" => ".e4m3x2,.e5m2x2",
        "fcmp" => ".eq,.ne,.lt,.le,.gt,.ge,.equ,.neu,.ltu,.leu,.gtu,.geu,.num,.nan",
        "scmp" => ".eq,.ne,.lt,.le,.gt,.ge",
        "ucmp" => ".eq,.ne,.lt,.le,.gt,.ge,.lo,.ls,.hi,.hs",
        "bool" => ".and,.or,.xor",
        "any" => ".b16,.b32,.b64,.u16,.u32,.u64,.s16,.s32,.s64,.f32,.f64",
        "mem" => ".b8,.b16,.b32,.b64,.u8,.u16,.u32,.u64,.s8,.s16,.s32,.s64,.f32,.f64",
        "scope" => ".cta,.cluster,.gpu,.sys",
        "sem" => ".relaxed,.acquire,.release,.acq_rel",
        "space" => {
            ".const,.global,.local,.param,.param::entry,.param::func,.shared,.shared::cta,\
             .shared::cluster"
        }
        "stspace" => ".global,.local,.param,.param::func,.shared,.shared::cta,.shared::cluster",
        "atspace" => ".global,.shared,.shared::cta,.shared::cluster",
        "own" => ".shared,.shared::cta",
        "cluster" => ".shared,.shared::cta,.shared::cluster",
        "L1" => {
            ".L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,\
             .L1::no_allocate"
        }
        "L2" => ".L2::evict_normal,.L2::evict_first,.L2::evict_last",
        "L2size" => ".L2::64B,.L2::128B,.L2::256B",
        "rank" => ".1d,.2d,.3d,.4d,.5d",
        "wgk8" => return warpgroups((8..=256).step_by(8), 8),
        "wgk16" => return warpgroups((8..=256).step_by(8), 16),
        "wgk32" => return warpgroups((8..=256).step_by(8), 32),
        "wgk64" => return warpgroups((8..=256).step_by(8), 64),
        "wgi32" => return warpgroups(integer_columns(), 32),
        "wgi64" => return warpgroups(integer_columns(), 64),
        "wgi256" => return warpgroups(integer_columns(), 256),
        "narrow" => return narrowing(),
        "vec" => return vectors(),
        "order" => return orders(),
        "place" => return places(),
        other => unreachable!("the table names a choice `{other}` that does not exist"),
    };
    list.split(',').map(str::to_owned).collect()
}

/// Columns of a warpgroup's products of integers.
fn integer_columns() -> impl Iterator<Item = u32> {
    (8..=256).step_by(8).filter(|n| n % 16 == 0 || *n == 8 || *n == 24)
}

/// Shapes of a warpgroup's products.
fn warpgroups(columns: impl Iterator<Item = u32>, k: u32) -> Vec<String> {
    columns.map(|n| format!(".m64n{n}k{k}")).collect()
}

/// Types of loads and stores, alone and as vectors of at most 16 bytes.
fn vectors() -> Vec<String> {
    let scalars = set("mem");
    let pairs = scalars.iter().map(|t| format!(".v2{t}"));
    let fours = scalars.iter().filter(|t| !t.ends_with("64")).map(|t| format!(".v4{t}"));
    let all = pairs.chain(fours).collect::<Vec<_>>();
    scalars.into_iter().chain([".b128".to_owned()]).chain(all).collect()
}

/// Integer types of a result and its source that it does not hold all values of.
fn narrowing() -> Vec<String> {
    let types = set("int8");
    let holds = |to: &str, from: &str| {
        let bits = |ty: &str| ty[2..].parse::<u32>().unwrap_or(0);
        match (to.as_bytes()[1], from.as_bytes()[1]) {
            (a, b) if a == b => bits(to) >= bits(from),
            (a, _) => a == b's' && bits(to) > bits(from),
        }
    };
    let pairs = types.iter().flat_map(|to| types.iter().map(move |from| (to, from)));
    pairs.filter(|(to, from)| !holds(to, from)).map(|(to, from)| format!("{to}{from}")).collect()
}

/// Scope and state space of an atomic, either of which may be missing; NVRTC writes them in the
/// other order than the manual.
fn places() -> Vec<String> {
    let (scopes, spaces) = (set("scope"), set("atspace"));
    let both = scopes.iter().flat_map(|a| spaces.iter().map(move |b| format!("{a}{b}")));
    let turned = spaces.iter().flat_map(|a| scopes.iter().map(move |b| format!("{a}{b}")));
    let all: Vec<_> = both.chain(turned).collect();
    scopes.into_iter().chain(set("atspace")).chain(all).collect()
}

/// Scopes with and without the ordering before them, as libcu++ writes them behind the operation.
fn orders() -> Vec<String> {
    let (orderings, scopes) = (set("sem"), set("scope"));
    let both = orderings.iter().flat_map(|o| scopes.iter().map(move |s| format!("{o}{s}")));
    scopes.iter().cloned().chain(both).collect()
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    fn opcodes(text: &'static str) -> Vec<String> {
        let pattern = Pattern::new(text);
        (0..pattern.count()).map(|n| pattern.opcode(n)).collect()
    }

    #[test]
    fn a_pattern_is_its_opcodes() {
        assert_eq!(opcodes("ret"), ["ret"]);
        assert_eq!(opcodes("a{.x}?.t"), ["a.t", "a.x.t"]);
        assert_eq!(opcodes("a{.x.y,.z}.t"), ["a.x.y.t", "a.z.t"]);
        assert_eq!(opcodes("a<bool>?").len(), 4);
    }

    #[test]
    fn order_and_completeness_count() {
        let pattern = Pattern::new("add{.rn,.rz}?{.ftz}?.f32");
        let accepts = |text: &str| pattern.accepts(&text.split('.').collect::<Vec<_>>());
        assert!(accepts("rn.ftz.f32") && accepts("f32") && accepts("ftz.f32"));
        assert!(!accepts("ftz.rn.f32") && !accepts("rn.f64") && !accepts("rn.f32.f32"));
        assert!(!accepts("rn") && !accepts("rn.rn.f32"));
        for n in 0..pattern.count() {
            let opcode = pattern.opcode(n);
            assert!(accepts(opcode.strip_prefix("add.").expect("it starts with the mnemonic")));
        }
    }
}
