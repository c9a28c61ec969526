//! The guard behind NVRTC: policy over the facts that `ptx_emu::analysis` finds in compiled code.
//!
//! The judge launches a kernel many times; a variable that outlives a launch could carry an
//! answer from one to the next. So a module variable may be loaded from and nothing else: constants
//! live in the same space (string literals, lookup tables, CCCL's empty objects). Registers that differ
//! between machines or launches are refused, since a kernel could behave on the emulator alone.

use kgen_record::{Finding, ParamType, SourceSpan};
use ptx_emu::analysis::{self, DebugLocation, Facts, Misuse, MisuseKind};

use crate::{Compiled, signature};

/// Special registers that may be read: they say where a thread is in its launch, and no more.
const POSITIONS: [&str; 18] = [
    "%tid",
    "%ntid",
    "%ctaid",
    "%nctaid",
    "%laneid",
    "%lanemask_eq",
    "%lanemask_le",
    "%lanemask_lt",
    "%lanemask_ge",
    "%lanemask_gt",
    "%clusterid",
    "%nclusterid",
    "%cluster_ctaid",
    "%cluster_nctaid",
    "%cluster_ctarank",
    "%cluster_nctarank",
    "%is_explicit_cluster",
    "%dynamic_smem_size",
];

/// Special registers that headers may read: cooperative groups find their barriers by them.
const OF_HEADERS: [&str; 3] = ["%envreg1", "%envreg2", "%reserved_smem_offset_1"];

/// Most bytes of PTX: thirty times the largest kernel seen.
const MAX_PTX_BYTES: usize = 16 << 20;

/// Most bytes of machine code.
const MAX_CUBIN_BYTES: usize = 32 << 20;

/// Most registers that a module may declare; a thread has 255 in the end.
const MAX_REGISTERS: u64 = 1 << 18;

/// Most bytes of all module variables: tables of constants are a few KiB.
const MAX_VARIABLE_BYTES: usize = 16 << 20;

/// Refuses compiled code that keeps state between launches, asks where it runs, launches kernels of
/// its own, uses textures or more than a kernel can need, or whose parameters differ from its
/// signature.
///
/// # Errors
///
/// The finding names the variable or function, and the line where it is known.
pub fn guard_ptx(compiled: &Compiled) -> Result<(), Box<Finding>> {
    refuse_size("PTX", compiled.ptx.len(), MAX_PTX_BYTES)?;
    refuse_size("machine code", compiled.cubin.len(), MAX_CUBIN_BYTES)?;
    let facts = analysis::analyse(&compiled.ptx).map_err(|error| {
        let hint = if error.message.contains("ref`") {
            TEXTURES_HINT
        } else {
            "inline PTX is read in the plain form that the compiler writes itself"
        };
        finding(format!("the kernel's code cannot be checked: {error}"), None, hint)
    })?;
    refuse_externals(&facts)?;
    check_parameters(compiled, &facts)?;
    refuse_amounts(&facts)?;
    let guard = Guard { facts: &facts, kernel_file: kernel_file(&facts) };
    guard.refuse_textures()?;
    guard.refuse_special_registers()?;
    guard.refuse_misuses()
}

fn finding(message: String, line: Option<u32>, hint: &str) -> Box<Finding> {
    let span = line.map(|line| SourceSpan { line, column: 0, text: String::new() });
    Box::new(Finding { message, span, hint: Some(hint.to_owned()), fault: None })
}

fn refuse_size(kind: &str, bytes: usize, limit: usize) -> Result<(), Box<Finding>> {
    if bytes <= limit {
        return Ok(());
    }
    let message =
        format!("the kernel compiles to {bytes} bytes of {kind}; at most {limit} are taken");
    Err(finding(message, None, "unroll less, or launch fewer instances of templates"))
}

fn refuse_amounts(facts: &Facts) -> Result<(), Box<Finding>> {
    if facts.registers > MAX_REGISTERS {
        let message = format!(
            "the kernel declares {} registers; at most {MAX_REGISTERS} are taken",
            facts.registers
        );
        return Err(finding(message, None, "declare in inline PTX only the registers it uses"));
    }
    let bytes = facts.variables.iter().fold(0_usize, |sum, v| sum.saturating_add(v.bytes));
    if bytes > MAX_VARIABLE_BYTES {
        let message = format!(
            "the module's variables have {bytes} bytes; at most {MAX_VARIABLE_BYTES} are taken"
        );
        return Err(finding(message, None, "use a scratch buffer: `scratch(..)` in the plan"));
    }
    Ok(())
}

fn refuse_externals(facts: &Facts) -> Result<(), Box<Finding>> {
    let unknown = facts.externals.iter().find(|name| !analysis::READERS.contains(&name.as_str()));
    if let Some(name) = unknown {
        let (message, hint) = match name.as_str() {
            "malloc" | "free" | "cudaMalloc" | "cudaFree" => (memory(name), HEAP_HINT),
            name if name.contains("aligned_device_malloc") => (memory(name), HEAP_HINT),
            name if name.starts_with("cudaLaunch") || name.starts_with("cudaGetParameter") => {
                let message = "the kernel launches another kernel; only the plan launches kernels";
                (message.to_owned(), "add a `launch(..)` to the plan")
            }
            name => {
                let message =
                    format!("the kernel calls `{name}`, which no GPU library here provides");
                (message, "write the function itself")
            }
        };
        return Err(finding(message, None, hint));
    }
    match facts.variables.iter().find(|variable| variable.is_extern) {
        Some(variable) => {
            let message = format!("the variable `{}` is defined nowhere", variable.name);
            Err(finding(message, None, "remove `extern`, or pass the data as an argument"))
        }
        None => Ok(()),
    }
}

const TEXTURES_HINT: &str =
    "kgen provides no textures, surfaces or samplers: read through a pointer";

const HEAP_HINT: &str = "use a local array, shared memory or `scratch(..)` in the plan";

fn memory(name: &str) -> String {
    format!("the kernel allocates on the device's heap (`{name}`), which would outlive the launch")
}

/// Compares the signatures, which macros can falsify, with the compiled parameters.
fn check_parameters(compiled: &Compiled, facts: &Facts) -> Result<(), Box<Finding>> {
    for (signature, entry) in compiled.signatures.iter().zip(&compiled.entries) {
        let Some(sizes) = facts.entries.get(entry.as_str()) else { continue };
        let fits = |(param, size): (&ParamType, &usize)| match param {
            ParamType::Pointer { .. } => *size == 8,
            ParamType::Int { bits, .. } => {
                usize::try_from(*bits).is_ok_and(|bits| bits == size * 8)
            }
            ParamType::Bool => *size == 1,
            ParamType::Float { dtype } => dtype.size() == *size,
            ParamType::TensorMap => *size == 128,
            ParamType::Other { .. } => true,
        };
        let equal = signature.params.len() == sizes.len();
        if !equal || !signature.params.iter().zip(sizes).all(fits) {
            return Err(Box::new(Finding::new(format!(
                "the parameters of `{}` cannot be told from its declaration; spell its parameter \
                 types without macros that redefine C++ words",
                signature.kernel
            ))));
        }
    }
    Ok(())
}

/// Returns the number of the kernel file in places.
fn kernel_file(facts: &Facts) -> Option<u32> {
    let is_own = |name: &str| name == crate::PROGRAM || name.ends_with("/k.cu");
    facts.files.iter().find(|(_, name)| is_own(name)).map(|(number, _)| *number)
}

struct Guard<'a> {
    facts: &'a Facts,
    kernel_file: Option<u32>,
}

impl Guard<'_> {
    /// Returns the line of the kernel file that a place belongs to.
    fn line(&self, place: Option<DebugLocation>) -> Option<u32> {
        let place = place?;
        let places = [Some(place.at), place.inlined_at];
        let own = places.into_iter().flatten().find(|(file, _)| Some(*file) == self.kernel_file);
        own.map(|(_, line)| line)
    }

    fn is_in_header(&self, place: Option<DebugLocation>) -> bool {
        place.is_some_and(|place| Some(place.at.0) != self.kernel_file)
    }

    /// A handle that the kernel makes up leads to memory that nobody watches.
    fn refuse_textures(&self) -> Result<(), Box<Finding>> {
        let Some((opcode, place)) = self.facts.textures.first() else { return Ok(()) };
        let message = format!("the kernel accesses a texture or surface (`{opcode}`)");
        Err(finding(message, self.line(*place), TEXTURES_HINT))
    }

    fn refuse_special_registers(&self) -> Result<(), Box<Finding>> {
        for (name, places) in &self.facts.special_registers {
            let of_headers = || places.iter().all(|place| self.is_in_header(*place));
            let name = name.as_str();
            if POSITIONS.contains(&name) || OF_HEADERS.contains(&name) && of_headers() {
                continue;
            }
            let hint = match name.trim_start_matches('%') {
                "warpid" | "nwarpid" => "compute the warp's number: threadIdx.x / 32",
                "smid" | "nsmid" => {
                    "number blocks by blockIdx, or take work with an atomic on scratch"
                }
                other if other.contains("clock") || other.contains("timer") => {
                    "kgen takes the times itself; wait with barriers and `__nanosleep`"
                }
                _ => "a kernel may read where its thread is in the launch, and no more",
            };
            let line = places.iter().find_map(|place| self.line(*place));
            let message = format!(
                "the kernel reads `{name}`, which tells where and when it runs instead of its data"
            );
            return Err(finding(message, line, hint));
        }
        Ok(())
    }

    fn refuse_misuses(&self) -> Result<(), Box<Finding>> {
        let misuses = &self.facts.misuses;
        // A write says more than the steps before it, and a line more than none.
        let rank = |misuse: &&Misuse| {
            (misuse.kind != MisuseKind::Written, self.line(misuse.place).is_none())
        };
        misuses.iter().min_by_key(rank).map_or(Ok(()), |misuse| Err(self.misuse(misuse)))
    }

    fn misuse(&self, misuse: &Misuse) -> Box<Finding> {
        let readable = signature::demangle(&misuse.variable);
        let name = readable.as_deref().unwrap_or(&misuse.variable);
        let is_text = misuse.variable.starts_with("$str");
        let message = match misuse.kind {
            MisuseKind::Written => format!(
                "the kernel writes the module variable `{name}`, which would outlive the launch"
            ),
            _ if is_text => {
                "a string literal is stored or passed on, for example to the `%s` of a \
                             printf: write the text into the format itself"
                    .to_owned()
            }
            MisuseKind::Stored | MisuseKind::Passed => {
                format!("the address of the module variable `{name}` is stored or passed on")
            }
            MisuseKind::Compared | MisuseKind::Computed => format!(
                "the address of the module variable `{name}` is used as a number (`{}`)",
                misuse.opcode
            ),
        };
        let hint = if misuse.kind == MisuseKind::Written {
            "keep state in a scratch buffer: `scratch(..)` in the plan, passed as an argument; \
             kgen clears or poisons it before every launch"
        } else {
            "index the variable by its name, `table[i]`: its address may be loaded from and nothing \
             else, so that no launch can leave something in it for the next"
        };
        finding(message, self.line(misuse.place), hint)
    }
}

#[cfg(test)]
mod tests;
