//! Damaged PTX gives an error, never a panic.

use crate::harness::random_bits;
use ptx_emu::{Config, Emulator, Launch, Limits, Module, Options};

#[test]
fn damaged_text_is_refused_or_runs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx/pass/softmax.ptx");
    let text = std::fs::read_to_string(path).expect("the corpus file is there");
    let bits = random_bits(1500);
    for pair in bits.chunks_exact(3) {
        let mut bytes = text.clone().into_bytes();
        let at = pair[0] as usize % bytes.len();
        match pair[2] % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at] = b' ' + (pair[1] % 95) as u8,
            _ => drop(bytes.drain(at..(at + pair[1] as usize % 40).min(text.len()))),
        }
        let Ok(damaged) = String::from_utf8(bytes) else { continue };
        let Ok(module) = Module::parse(&damaged) else { continue };
        let Some(sizes) = module.param_sizes("softmax") else { continue };
        let mut emulator = Emulator::new(Config::default());
        let x = emulator.alloc("x", 4096, 4);
        emulator.write(x, &[0; 4096]);
        let address = emulator.address(x).to_le_bytes();
        let args = sizes.iter().map(|n| address[..(*n).min(8)].to_vec()).collect();
        let launch = Launch {
            kernel: "softmax".to_owned(),
            grid: [1, 1, 1],
            block: [64, 1, 1],
            dynamic_smem: 0,
            cluster: None,
            args,
        };
        let limits = Limits { lane_instructions: 1_000_000, printf_bytes: 0, ..Limits::default() };
        // Whatever comes of it, it comes as a value.
        emulator
            .launch(&module, &launch, &Options { limits, ..Options::default() })
            .into_result()
            .map_or_else(drop, drop);
    }
}

#[test]
fn every_prefix_of_a_statement_parses_or_fails() {
    let head =
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<4>;\n";
    for statement in [
        "setp",
        "setp.lt.s32 %p",
        "mov.b32 {%r1,",
        "@%p1",
        "ld.global.f32 %r1, [%r2+",
        "call (r), f,",
        "shfl.sync %r1",
        "cvt.rn",
        "bra",
        "selp.b32 %r1",
        "wmma.load.a",
        "mma.sync",
        "bar.sync",
        "set",
    ] {
        for end in ["", ";", ";\n}", "}"] {
            let text = format!("{head}{statement}{end}");
            Module::parse(&text).map_or_else(drop, drop);
        }
    }
}

/// All PTX files of the corpus.
fn corpus() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ptx");
    let folders = ["pass", "fail", "unsupported"].map(|f| std::path::Path::new(folder).join(f));
    let files = folders.into_iter().flat_map(|f| std::fs::read_dir(f).into_iter().flatten());
    let mut files: Vec<_> = files.flatten().map(|f| f.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "ptx"));
    files.sort();
    assert!(files.len() > 10);
    files.iter().map(|f| std::fs::read_to_string(f).expect("it can be read")).collect()
}

#[test]
fn every_file_can_end_anywhere() {
    let mut refused = 0;
    for text in corpus() {
        let steps = (1_000_000 / text.len()).clamp(4, 60);
        for n in 0..steps {
            // A prime keeps the ends from falling on the same place of every line.
            let end = (text.len() * n / steps + 7 * n % 31).min(text.len());
            if let Err(error) = Module::parse(&text[..end]) {
                refused += 1;
                let lines = text[..end].lines().count() as u32;
                assert!(error.line <= lines + 1 && error.column > 0, "{error}");
            }
        }
    }
    assert!(refused > 100);
}

#[test]
fn every_file_survives_changed_bytes() {
    let marks = [
        "",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "<4000000000>",
        "-",
        "0f",
        "0x",
        "\"",
        "/*",
        "%r",
        ".align 4294967295",
        ".v4",
        "@",
        "!",
        "|",
        "\u{e9}",
        "99999999999999999999",
        "_ZZE1",
        ".reg",
        "\0",
        "$L",
        ":",
        ".param",
        "18446744073709551615",
    ];
    for (index, text) in corpus().into_iter().enumerate() {
        let bits = random_bits(2 * (600_000 / text.len()).clamp(4, 60) + 2 * index);
        for pair in bits[2 * index..].chunks_exact(2) {
            let mut damaged = text.clone();
            let at = pair[0] as usize % text.len();
            let end = (at + pair[1] as usize % 9).min(text.len());
            damaged.replace_range(at..end, marks[pair[1] as usize / 16 % marks.len()]);
            if let Ok(module) = Module::parse(&damaged) {
                let names: Vec<&str> = module.kernels().collect();
                assert!(names.iter().all(|name| module.usage(name).is_some()));
            }
        }
    }
}
