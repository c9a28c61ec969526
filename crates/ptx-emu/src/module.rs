//! Parsed and lowered modules.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{
    ParseError,
    lower::{Program, lower},
    op::Op,
    parse::parse,
};

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Resources of a kernel, device functions it can call included.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Bytes of each parameter.
    pub params: Vec<usize>,
    /// Bytes of static shared memory.
    pub shared_bytes: u64,
    /// Whether it uses dynamic shared memory.
    pub dynamic_shared: bool,
    /// Bytes of local memory of a thread that is in each function once.
    pub local_bytes: u64,
    /// Operations it is made of.
    pub operations: usize,
}

/// A PTX module ready to launch.
pub struct Module {
    program: Arc<Program>,
    id: u64,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("kernels", &self.kernels().collect::<Vec<_>>()).finish()
    }
}

impl Module {
    /// Parses PTX text. Instructions the emulator does not know are no error here.
    ///
    /// # Errors
    /// The first place where the text is not PTX.
    pub fn parse(ptx: &str) -> Result<Self, ParseError> {
        let tree = parse(ptx)?;
        let program = Arc::new(lower(&tree, ptx)?);
        Ok(Self { program, id: NEXT_ID.fetch_add(1, Ordering::Relaxed) })
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.program.signatures.iter().filter(|s| s.is_entry).map(|s| s.name.as_str())
    }

    /// Bytes of each parameter of a kernel; `None` if there is no such kernel.
    #[must_use]
    pub fn param_sizes(&self, kernel: &str) -> Option<Vec<usize>> {
        let mut signatures = self.program.signatures.iter();
        let signature = signatures.find(|s| s.is_entry && s.name == kernel)?;
        Some(signature.params.iter().map(|(_, size)| *size).collect())
    }

    /// Resources of a kernel; `None` if there is no such kernel.
    #[must_use]
    pub fn usage(&self, kernel: &str) -> Option<Usage> {
        let program = &self.program;
        let index = program.signatures.iter().position(|s| s.is_entry && s.name == kernel)?;
        let mut usage = Usage {
            params: self.param_sizes(kernel)?,
            shared_bytes: 0,
            dynamic_shared: false,
            local_bytes: 0,
            operations: 0,
        };
        let mut shared = vec![false; program.variables.len()];
        for function in program.reachable(index) {
            let code = &program.code[function];
            usage.local_bytes += u64::from(code.frame_bytes);
            usage.operations += (code.end - code.entry) as usize;
            for &variable in &code.shared {
                if std::mem::replace(&mut shared[variable as usize], true) {
                    continue;
                }
                let variable = &program.variables[variable as usize];
                usage.dynamic_shared |= variable.is_extern || variable.bytes == 0;
                usage.shared_bytes = usage.shared_bytes.saturating_add(variable.bytes as u64);
            }
        }
        Some(usage)
    }

    /// Instructions the emulator does not know, each as a launch that reaches it would report it.
    #[must_use]
    pub fn unknown_instructions(&self) -> Vec<String> {
        let program = &self.program;
        let refused = program.ops.iter().enumerate().filter_map(|(pc, op)| match op {
            Op::Unsupported(index) => Some((pc, &program.unsupported[*index as usize])),
            _ => None,
        });
        refused.map(|(pc, reason)| program.refusal(pc, reason).2).collect()
    }

    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Distinguishes modules for their variables.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}
