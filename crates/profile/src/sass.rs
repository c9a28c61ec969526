//! Machine code, counted, from nvdisasm's JSON (`nvdisasm -json`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The instructions of one kernel, functions that it calls included.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SassMix {
    /// The kernel's name in the module.
    pub kernel: String,
    /// Instructions, padding aside.
    pub n_instructions: u32,
    /// Instructions of each kind that there is, by the name of the kind.
    pub kinds: BTreeMap<String, u32>,
    /// Notable properties of the code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lints: Vec<String>,
}

/// Reads the kernels of a module; `None` where `text` is not nvdisasm's JSON.
#[must_use]
pub fn parse(text: &str) -> Option<Vec<SassMix>> {
    let value: Value = serde_json::from_str(text).ok()?;
    let functions = value.as_array()?.get(1)?.as_array()?;
    let mut mixes: Vec<SassMix> = Vec::new();
    let mut opcodes: Vec<String> = Vec::new();
    for function in functions {
        let name = function["function-name"].as_str()?;
        let instructions = function["sass-instructions"].as_array()?;
        let codes = instructions.iter().filter_map(|instruction| instruction["opcode"].as_str());
        let codes: Vec<String> = codes.filter(|code| *code != "NOP").map(str::to_owned).collect();
        // A function that is no kernel stands behind the one that calls it.
        if name.starts_with('$') && !mixes.is_empty() {
            opcodes.extend(codes);
        } else {
            finish(&mut mixes, &opcodes);
            mixes.push(SassMix { kernel: name.to_owned(), ..SassMix::default() });
            opcodes = codes;
        }
    }
    finish(&mut mixes, &opcodes);
    Some(mixes)
}

fn finish(mixes: &mut [SassMix], opcodes: &[String]) {
    let Some(mix) = mixes.last_mut() else { return };
    mix.n_instructions = u32::try_from(opcodes.len()).unwrap_or(u32::MAX);
    for opcode in opcodes {
        if let Some(kind) = kind(opcode) {
            *mix.kinds.entry(kind.to_owned()).or_default() += 1;
        }
    }
    mix.lints = lints(opcodes);
}

/// Returns the kind of an instruction; `None` for the many that say nothing about speed.
fn kind(opcode: &str) -> Option<&'static str> {
    let head = opcode.split('.').next().unwrap_or_default();
    Some(match head {
        "LDG" | "LD" => "global loads",
        "STG" | "ST" => "global stores",
        "LDS" | "LDSM" => "shared loads",
        "STS" | "STSM" => "shared stores",
        "LDL" => "local loads",
        "STL" => "local stores",
        "LDGSTS" | "UTMALDG" | "UTMASTG" | "UBLKCP" => "asynchronous copies",
        "ATOM" | "ATOMG" | "ATOMS" | "RED" | "REDG" => "atomics",
        "BAR" | "WARPSYNC" | "SYNCS" => "barriers",
        "MEMBAR" if is_gpu_wide(opcode) => "fences of the whole GPU",
        "SHFL" | "REDUX" | "CREDUX" => "shuffles",
        "MUFU" => "special functions",
        "HMMA" | "HGMMA" | "IMMA" | "IGMMA" | "QGMMA" | "BMMA" | "DMMA" | "QMMA" | "UTCHMMA"
        | "UTCQMMA" | "OMMA" => "matrix instructions",
        "FADD" | "FMUL" | "FFMA" | "FMNMX" | "FADD2" | "FFMA2" => "f32 arithmetic",
        // `HFMA2.MMA` on two constants is how the assembler loads a number.
        "HADD2" | "HMUL2" | "HFMA2" | "HMNMX2" if opcode != "HFMA2.MMA" => "f16 arithmetic",
        "DADD" | "DMUL" | "DFMA" => "f64 arithmetic",
        "F2F" | "F2FP" | "F2I" | "I2F" | "I2FP" => "conversions",
        "BRA" | "BRX" | "JMP" | "CALL" | "RET" => "branches",
        _ => return None,
    })
}

/// Whether a fence waits until all multiprocessors see the accesses before it.
fn is_gpu_wide(opcode: &str) -> bool {
    opcode.split('.').any(|part| matches!(part, "GPU" | "SYS" | "VC"))
}

/// Fences of the whole GPU that a kernel has for its blocks to begin and end together.
const FEW_FENCES: usize = 2;

/// Names the notable parts.
fn lints(opcodes: &[String]) -> Vec<String> {
    let mut lints = Vec::new();
    let count = |is: &dyn Fn(&str) -> bool| opcodes.iter().filter(|code| is(code)).count();
    let head = |code: &str, heads: &[&str]| heads.contains(&code.split('.').next().unwrap_or(""));
    let local = count(&|code| head(code, &["LDL", "STL"]));
    if 0 < local {
        lints.push(format!(
            "{local} accesses of local memory: spills, or arrays indexed at run time"
        ));
    }
    let doubles = count(&|code| head(code, &["DADD", "DMUL", "DFMA"]));
    if 0 < doubles {
        lints.push(format!("{doubles} instructions in f64: a constant without `f`, or wanted"));
    }
    let fences = count(&|code| head(code, &["MEMBAR"]) && is_gpu_wide(code));
    if FEW_FENCES < fences {
        lints.push(format!(
            "{fences} fences of the whole GPU (`__threadfence`, `.release.cluster`, `.gpu`), each of hundreds \
             of cycles: none belongs into a loop"
        ));
    }
    for (what, load) in [("loads", "LDG"), ("stores", "STG")] {
        let all = count(&|code| head(code, &[load]));
        let wide = count(&|code| head(code, &[load]) && width(code) >= 64);
        let narrow = count(&|code| head(code, &[load]) && width(code) < 32);
        if 0 < all && wide == 0 && narrow == 0 {
            lints.push(format!("all {all} global {what} are 32 bits wide, none 64 or 128"));
        } else if 0 < narrow && wide == 0 {
            lints.push(format!("{narrow} of {all} global {what} are narrower than 32 bits"));
        }
    }
    lints
}

/// Width of an access in bits, by its suffix.
fn width(opcode: &str) -> u32 {
    let suffix = |part: &str| match part {
        "128" => Some(128),
        "64" => Some(64),
        "U8" | "S8" => Some(8),
        "U16" | "S16" => Some(16),
        _ => None,
    };
    opcode.split('.').skip(1).find_map(suffix).unwrap_or(32)
}
