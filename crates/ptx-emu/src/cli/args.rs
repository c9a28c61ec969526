//! The command line's words.

use clap::{Args, Parser, Subcommand, ValueEnum};
use ptx_emu::{Blocks, Checks};

use super::spec::{self, Arg, Expect};

const EXIT_CODES: &str = "\
Exit codes:
  0 clean   1 findings   2 usage   3 files   4 unsupported instruction   5 deadlock or budget";

const VALUES: &str = "\
Arguments of the kernel, in its order:
  --arg NAME=in:TYPE:DATA            an array the kernel reads
  --arg NAME=inout:TYPE:DATA[:FILE]  an array it changes; FILE gets the result
  --arg NAME=out:TYPE:SHAPE[:FILE]   an array it must write whole; FILE gets the result
  --arg NAME=TYPE:VALUE              a number
  --arg NAME=hex:BYTES               a struct by value
  --arg NAME=null                    a null pointer
  TYPE   f64 f32 f16 bf16 e4m3 e5m2 i64 i32 i16 i8 u64 u32 u16 u8
  DATA   a .npy file, any other file as raw little-endian elements, or
         @zeros,N @ones,N @arange,N @rand,N[,SEED]  (uniform in [-1, 1))
  SHAPE  1024 or 32x64

Variables of the module, __constant__ ones too, from their starts:
  --set NAME=in:TYPE:DATA, NAME=TYPE:VALUE, NAME=hex:BYTES

Examples:
  ptx-emu run relu.ptx --grid 4 --block 256 \\
      --arg x=in:f32:x.npy --arg y=out:f32:1024:y.npy --arg n=i32:1024
  ptx-emu run gemm.ptx --kernel gemm --grid 8,8 --block 16,16 --smem 8192 \\
      --arg a=in:f16:@rand,16384 --arg b=in:f16:@rand,16384,7 \\
      --arg c=out:f32:128x128 --arg n=i32:128 --expect c=want.npy:1e-3";

/// Runs kernels of PTX files on a CPU and reports their errors.
#[derive(Debug, Parser)]
#[command(name = "ptx-emu", version, no_binary_name = true, after_help = EXIT_CODES)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub(super) struct CommandLine {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run one kernel; `ptx-emu run --help` shows its arguments
    #[command(after_help = format!("{VALUES}\n\n{EXIT_CODES}"))]
    Run(Box<RunArgs>),
    /// Show kernels, parameters, memory, and instructions that are not known
    List {
        #[arg(value_name = "FILE.ptx")]
        ptx: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[arg(value_name = "FILE.ptx")]
    pub ptx: String,
    /// Blocks of the grid
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub grid: [u32; 3],
    /// Threads of a block
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub block: [u32; 3],
    /// An argument of the kernel, see below
    #[arg(long = "arg", value_name = "NAME=..", value_parser = spec::arg)]
    pub args: Vec<Arg>,
    /// A variable of the module, see below
    #[arg(long = "set", value_name = "NAME=..", value_parser = spec::arg)]
    pub set: Vec<Arg>,
    /// Mangled or plain name; not needed where there is one kernel
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Dynamic shared memory
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub smem: u32,
    /// Blocks of a cluster, if the kernel does not say
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = extents)]
    pub cluster: Option<[u32; 3]>,
    /// Whether the launch is cooperative; where it is left out, as the kernel asks for
    #[arg(long, value_name = "true|false")]
    pub cooperative: Option<bool>,
    /// full, memory, bounds, or any of init,taint,races,numerics
    #[arg(long = "sanitize", value_name = "LIST", default_value = "full", value_parser = checks)]
    pub checks: Checks,
    /// Count instructions, sectors, wavefronts
    #[arg(long)]
    pub counters: bool,
    /// all, 1,5,7-9, or sample:COUNT[:SEED]
    #[arg(long, value_name = "WHICH", default_value = "all", value_parser = blocks)]
    pub blocks: Blocks,
    /// Lane instructions to run at most (suffixes k M G T)
    #[arg(long, value_name = "N", value_parser = |text: &str| scaled(text, 1000))]
    pub limit: Option<u64>,
    /// Memory of the device (suffixes K M G T)
    #[arg(long, value_name = "BYTES", value_parser = |text: &str| scaled(text, 1024))]
    pub memory: Option<u64>,
    /// Compare an array afterwards: |got - want| may be TOLERANCE * max(1, |want|); equal without it
    #[arg(long, value_name = "NAME=DATA[:TOLERANCE]", value_parser = spec::expect)]
    pub expect: Vec<Expect>,
    /// Source to quote; found by itself beside the PTX
    #[arg(long, value_name = "FILE.cu")]
    pub source: Option<String>,
    #[arg(long, default_value = "text")]
    pub format: Format,
}

/// Parses `X[,Y[,Z]]`.
fn extents(text: &str) -> Result<[u32; 3], &'static str> {
    let numbers = text.split(',').map(|part| part.trim().parse());
    match numbers.collect::<Result<Vec<u32>, _>>().as_deref() {
        Ok(&[x]) => Ok([x, 1, 1]),
        Ok(&[x, y]) => Ok([x, y, 1]),
        Ok(&[x, y, z]) => Ok([x, y, z]),
        _ => Err("expected up to three numbers such as 8,4"),
    }
}

fn checks(text: &str) -> Result<Checks, &'static str> {
    let mut checks = Checks::BOUNDS;
    for name in text.split(',') {
        match name {
            "full" => checks = Checks::FULL,
            "bounds" => {}
            "memory" | "init" => checks.initialisation = true,
            "taint" => (checks.initialisation, checks.taint) = (true, true),
            "races" => checks.races = true,
            "numerics" => checks.numerics = true,
            _ => {
                return Err(
                    "expected full, memory, bounds, or a list of init,taint,races,numerics",
                );
            }
        }
    }
    Ok(checks)
}

/// Most blocks that are named one by one.
const MAX_NAMED: u64 = 1 << 20;

fn blocks(text: &str) -> Result<Blocks, &'static str> {
    chosen(text).ok_or("expected all, 1,5,7-9, or sample:COUNT[:SEED]")
}

fn chosen(text: &str) -> Option<Blocks> {
    if text == "all" {
        return Some(Blocks::All);
    }
    if let Some(rest) = text.strip_prefix("sample:") {
        let (count, seed) = rest.split_once(':').unwrap_or((rest, "0"));
        let count = count.parse().ok().filter(|n| *n > 0)?;
        return Some(Blocks::Sample { count, seed: seed.parse().ok()? });
    }
    let mut list = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last - first >= MAX_NAMED {
            return None;
        }
        list.extend(first..=last);
    }
    Some(Blocks::Only(list))
}

/// Parses a number with a suffix k, M, G or T of this base.
fn scaled(text: &str, base: u64) -> Result<u64, &'static str> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &text[digits.len()..] {
        "" => Some(0),
        "k" | "K" => Some(1),
        "M" => Some(2),
        "G" => Some(3),
        "T" => Some(4),
        _ => None,
    };
    let scaled = || digits.parse::<u64>().ok()?.checked_mul(base.pow(power?));
    scaled().ok_or("expected a number such as 500M or 16G")
}

#[cfg(test)]
mod tests {
    use super::{Blocks, Checks, blocks, checks, extents, scaled};

    #[test]
    fn values_of_options() {
        assert_eq!(extents("4"), Ok([4, 1, 1]));
        assert_eq!(extents("4,2,3"), Ok([4, 2, 3]));
        assert!(["4,", "1,2,3,4", ""].iter().all(|text| extents(text).is_err()));
        assert_eq!(scaled("5G", 1000), Ok(5_000_000_000));
        assert_eq!(scaled("5K", 1024), Ok(5120));
        assert!(["5X", "G", "99999999999T"].iter().all(|text| scaled(text, 1024).is_err()));
        assert_eq!(checks("full"), Ok(Checks::FULL));
        assert_eq!(checks("init,taint,races,numerics"), Ok(Checks::FULL));
        assert!(checks("fast").is_err());
        assert_eq!(blocks("1,5-7"), Ok(Blocks::Only(vec![1, 5, 6, 7])));
        assert_eq!(blocks("sample:8:3"), Ok(Blocks::Sample { count: 8, seed: 3 }));
        let wrong = ["sample:0", "7-5", "0-99999999999", "x"];
        assert!(wrong.iter().all(|text| blocks(text).is_err()));
    }
}
