//! Metadata of `mma.sp`, spelled out as the PTX ISA's "Sparse matrix storage" does, and faults in
//! them.

use super::{HEAD, emulate, form::Form, kernel, number::Type};
use ptx_emu::{Config, Emulator, FindingKind, Launch, Module, Options};

/// The sparsity of a form.
#[derive(Debug, Clone)]
pub(crate) struct Sparse {
    pub(crate) selector: usize,
    ordered: bool,
    k: usize,
    a: Type,
}

/// Four bits of a chunk in ascending order: elements 0 and 1, 0 and 2, and so on.
const ASCENDING: [u8; 6] = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110];

impl Sparse {
    pub(crate) fn new(name: &str, k: usize, a: Type) -> Self {
        let selector = name.rsplit('/').next().and_then(|s| s.parse().ok());
        let ordered = name.contains("ordered_metadata");
        Self { selector: selector.expect("the selector follows the opcode"), ordered, k, a }
    }

    /// A word for each lane, those that do not count as well.
    pub(crate) fn metadata(&self, kind: char) -> Vec<u8> {
        let random = Type::named("u8").expect("8 bits").inputs(kind, 3, 256);
        let descending = ASCENDING.map(|bits| bits >> 2 | (bits & 3) << 2);
        let choices = match (self.a.name, self.ordered) {
            ("tf32", _) => vec![0b0100, 0b1110],
            (_, true) => ASCENDING.to_vec(),
            _ => [ASCENDING, descending].concat(),
        };
        let of = |r: u8| choices[r as usize % choices.len()];
        random.chunks(2).map(|two| of(two[0]) | of(two[1]) << 4).collect()
    }

    /// Four bits for `chunk` of `row`.
    fn bits(&self, metadata: &[u8], row: usize, chunk: usize) -> usize {
        let (group, high) = (row % 8, row / 8);
        let selector = self.selector;
        let (thread, at) = match (self.a.name, self.k) {
            ("f16" | "bf16", 16) | ("tf32", 8) => (selector, 16 * high + 4 * chunk),
            ("f16" | "bf16", 32) | ("tf32", 16) => {
                (2 * selector + chunk / 4, 16 * high + chunk % 4 * 4)
            }
            ("s8" | "u8", 32) | ("s4" | "u4", 64) => (2 * selector + high, 4 * chunk),
            ("s8" | "u8" | "e4m3" | "e5m2", 64) | ("s4" | "u4", 128) => {
                (if chunk < 8 { high } else { 2 + high }, chunk % 8 * 4)
            }
            (a, k) => panic!("no metadata of {a} {k}"),
        };
        let bit = (4 * group + thread) * 32 + at;
        usize::from(metadata[bit / 8] >> (bit % 8) & 0xf)
    }

    /// Column of stored element `n` of a row.
    pub(crate) fn position(&self, metadata: &[u8], row: usize, n: usize) -> usize {
        match self.a.name {
            "tf32" => 2 * n + usize::from(self.bits(metadata, row, n) == 0b1110),
            "s4" | "u4" => {
                let bits = self.bits(metadata, row, n / 4);
                let pair = if n % 4 < 2 { bits & 3 } else { bits >> 2 };
                n / 4 * 8 + pair * 2 + n % 2
            }
            _ => {
                let bits = self.bits(metadata, row, n / 2);
                n / 2 * 4 + if n.is_multiple_of(2) { bits & 3 } else { bits >> 2 }
            }
        }
    }
}

/// Findings of a form on metadata that are the same in all lanes; lanes but one of each four have
/// them undefined if `lane` is given.
fn findings(
    name: &str,
    metadata: u32,
    body: impl Fn(String) -> String,
) -> Vec<(FindingKind, String)> {
    let form = Form::new(name);
    let text = HEAD.to_owned() + &body(kernel(&form));
    let module = Module::parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let mut emulator = Emulator::new(Config::default());
    let mut args = Vec::new();
    let sizes = [4096, 4096, 1024, 128];
    for bytes in sizes {
        let buffer = emulator.alloc("input", bytes, 4);
        emulator.write(buffer, &metadata.to_le_bytes().repeat(bytes / 4));
        args.push(emulator.address(buffer).to_le_bytes().to_vec());
    }
    let out = emulator.alloc("d", 1024, 4);
    args.push(emulator.address(out).to_le_bytes().to_vec());
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [1; 3],
        block: [32, 1, 1],
        args,
        ..Launch::default()
    };
    let report = emulator.launch(&module, &launch, &Options::default());
    assert!(report.end.is_ok(), "{report:?}");
    report.findings.iter().map(|f| (f.kind, f.message.clone())).collect()
}

const F16: &str = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32/1";
const ORDERED: &str = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32/1";
const TF32: &str = "mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32/0";

#[test]
fn metadata_that_stand_for_nothing_are_found() {
    let of = |name, metadata| findings(name, metadata, |text| text);
    for (name, metadata) in
        [(F16, 0x4444_4444), (F16, 0x1111_1111), (ORDERED, 0x4444_4444), (TF32, 0x4e4e_e4e4)]
    {
        assert_eq!(of(name, metadata), [], "{name} {metadata:x}");
    }
    for (name, metadata, words) in [
        (
            F16,
            0x4454_4444,
            "metadata 0b0101 of chunk 1 in row 8 of a warp's part of A names an element twice",
        ),
        (
            ORDERED,
            0x4444_4441,
            "metadata 0b0001 of chunk 0 in row 0 of a warp's part of A is not in ascending order",
        ),
        (TF32, 0x4e4e_e8e4, "metadata 0b1000 of chunk 2 in row 0 of a warp's part of A is neither"),
    ] {
        let found = of(name, metadata);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, FindingKind::SparseMetadata);
        assert!(found[0].1.starts_with(words), "{}", found[0].1);
    }
}

#[test]
fn metadata_count_in_the_selected_threads_only() {
    // Threads 2 and 3 of each four have them; or threads 0 and 1, which selector 1 ignores.
    for (odd, want) in [("ge", 0), ("lt", 1)] {
        let found = findings(F16, 0x4444_4444, |text| {
            let load = text.find("ld.global.b32 %e0").expect("the metadata are loaded");
            let guard = format!(
                ".reg .pred %q; .reg .b32 %u; and.b32 %u, %t, 3; setp.{odd}.u32 %q, %u, 2;\n@%q "
            );
            format!("{}{guard}{}", &text[..load], &text[load..])
        });
        assert_eq!(found.len(), want, "{odd}: {found:?}");
        assert!(found.iter().all(|(kind, _)| *kind == FindingKind::UninitialisedRegister));
    }
}

#[test]
fn elements_of_b_that_meet_none_are_not_read() {
    // An infinity beside the selected elements makes no NaN.
    let name = "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32/0";
    let module = Module::parse(&(HEAD.to_owned() + &kernel(&Form::new(name)))).expect("valid");
    let one = half::f16::from_f32(1.0).to_bits().to_le_bytes();
    let infinite = half::f16::INFINITY.to_bits().to_le_bytes();
    // A thread holds k = 2 t, 2 t + 1 and both 8 further on: 0b1110 selects k = 2, 3 of four.
    let b: Vec<u8> = (0..32)
        .flat_map(|lane| if lane % 2 == 0 { infinite.repeat(4) } else { one.repeat(4) })
        .collect();
    let inputs = [one.repeat(32 * 4), b, vec![0; 512], vec![0xee; 128]];
    let got = emulate(&module, "k", &inputs, 512);
    assert!(got.chunks(4).all(|value| value == 8_f32.to_le_bytes()), "{got:?}");
}
