//! A candidate after compiling: all that a device needs to run every case of a request.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use kgen_kernel::BoundArg;
use kgen_record::{DType, ResolvedPlan, Step};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// All compile variants of a kernel file and, for each case, its resolved and bound plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The compile variants.
    pub variants: Vec<Variant>,
    /// One entry per case that can run, in the request's order.
    pub cases: Vec<CaseProgram>,
    /// Further choices of parameters for the timed cases.
    pub tunings: Vec<CaseProgram>,
    /// kgen's copy kernel, where a plan needs it.
    pub copy: Option<Variant>,
    /// The baselines that are kernel files or calls of a library, for the timed cases.
    pub baselines: Vec<BaselineProgram>,
    /// The programs that full-size cases are compared with, where there are any.
    pub full_size: Option<Box<FullSizeProgram>>,
    /// Cases that a library does not take, and why.
    pub refused: Vec<(usize, String)>,
    /// The reference's program, where it is a kernel; its cases are those of the request in f64.
    pub reference: Option<Box<ReferenceProgram>>,
}

impl Program {
    /// Returns the program of an implementation that is called, not compiled: it launches nothing
    /// in any case.
    #[must_use]
    pub fn without_code(n_cases: usize) -> Self {
        let case = |case| CaseProgram {
            case,
            variant: 0,
            plan: ResolvedPlan::default(),
            bound: Vec::new(),
        };
        Self {
            variants: Vec::new(),
            cases: (0..n_cases).map(case).collect(),
            tunings: Vec::new(),
            copy: None,
            baselines: Vec::new(),
            full_size: None,
            refused: Vec::new(),
            reference: None,
        }
    }

    /// Returns the default program of a case.
    #[must_use]
    pub fn case(&self, index: usize) -> Option<&CaseProgram> {
        self.cases.iter().find(|program| program.case == index)
    }

    /// Returns whether a library is called, and nothing of the candidate was compiled.
    #[must_use]
    pub fn calls_library(&self) -> bool {
        let mut steps = self.cases.iter().flat_map(|case| &case.plan.steps);
        self.variants.is_empty() && steps.any(|step| matches!(step, Step::Gemm { .. }))
    }

    /// Returns why a case has no program.
    #[must_use]
    pub fn refusal(&self, index: usize) -> &str {
        let found = self.refused.iter().find(|(case, _)| *case == index);
        found.map_or("its plan declines the case", |(_, why)| why)
    }

    /// Returns the program of a baseline.
    #[must_use]
    pub fn baseline(&self, name: &str) -> Option<&Self> {
        let found = self.baselines.iter().find(|baseline| baseline.name == name);
        found.map(|baseline| &baseline.program)
    }
}

/// The programs that judge full-size cases on the device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullSizeProgram {
    /// kgen's own kernels.
    pub own: Variant,
    /// The trusted kernel; its cases are the full-size ones that it takes. `None` where the cases are
    /// those of a PyTorch module.
    pub trusted: Option<Program>,
}

/// A baseline that is a kernel file or calls a library.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BaselineProgram {
    /// The baseline's name.
    pub name: String,
    /// Its variants and launches.
    pub program: Program,
}

/// The program of a reference kernel with the PTX that the emulator needs wherever it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReferenceProgram {
    /// Variants and launches.
    pub program: Program,
    /// The PTX of each variant.
    pub ptx: Vec<String>,
    /// That of kgen's copy kernel.
    pub copy_ptx: Option<String>,
}

/// One compilation of the kernel file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Type macros, for example `T_self` = f32.
    pub types: Vec<(String, DType)>,
    /// Macros of the plan.
    pub defines: Vec<(String, String)>,
    /// The machine code.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub cubin: Vec<u8>,
    /// The same as PTX, which only the emulator needs: it does not leave the process.
    #[serde(skip)]
    pub ptx: String,
}

/// A case's plan, ready to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseProgram {
    /// Index of the case in the request.
    pub case: usize,
    /// Index of its variant; without meaning where nothing was compiled.
    pub variant: usize,
    pub plan: ResolvedPlan,
    /// The bound launch of each step; `None` for steps that launch nothing of the candidate.
    pub bound: Vec<Option<BoundLaunch>>,
}

/// A launch's entry point and arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundLaunch {
    /// The kernel's name in the module.
    pub entry: String,
    /// Its arguments.
    pub args: Vec<BoundArg>,
}

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    BASE64_STANDARD.decode(text).map_err(serde::de::Error::custom)
}
