//! The code of full-size cases, loaded when it is first needed.

use kgen_device::{Device, ModuleId};

use super::device_kernels::DeviceKernels;
use crate::{
    CaseProgram, Error, FullSizeProgram,
    loader::{self, Loader},
    session::Modules,
    side::OutOfProcess,
};

/// The source of the results that outputs are compared with, beside kgen's own kernels.
#[derive(Clone, Copy)]
pub(crate) struct Trusted<'a> {
    pub(super) kit: DeviceKernels,
    pub(super) by: TrustedBy<'a>,
}

/// A source of results.
#[derive(Clone, Copy)]
pub(super) enum TrustedBy<'a> {
    /// The builtin kernel of the op.
    Kernel { program: &'a CaseProgram, modules: Modules<'a> },
    /// The PyTorch module in f64.
    Module(&'a OutOfProcess<'a>),
}

impl<'a> Trusted<'a> {
    /// Returns the trusted kernel's program of the case, where there is one.
    pub(crate) const fn program(&self) -> Option<&'a CaseProgram> {
        match self.by {
            TrustedBy::Kernel { program, .. } => Some(program),
            TrustedBy::Module(_) => None,
        }
    }
}

/// The loaded kernels for full-size cases.
pub(crate) struct Loaded<'a> {
    code: Option<Code<'a>>,
}

struct Code<'a> {
    program: &'a FullSizeProgram,
    loader: Option<Loader<'a>>,
    own: Option<ModuleId>,
}

impl<'a> Loaded<'a> {
    /// Loads nothing yet.
    pub(crate) fn new(program: Option<&'a FullSizeProgram>) -> Self {
        let code = |program: &'a FullSizeProgram| Code {
            program,
            loader: program.trusted.as_ref().map(Loader::new),
            own: None,
        };
        Self { code: program.map(code) }
    }

    /// Returns the trusted kernel for a case that it takes, or the module.
    pub(crate) fn load(
        &mut self,
        device: &mut dyn Device,
        case: usize,
        module: Option<&'a OutOfProcess<'a>>,
    ) -> Result<Trusted<'a>, Error> {
        let missing = || Error::OwnKernels("the case has no trusted kernel".to_owned());
        let code = self.code.as_mut().ok_or_else(missing)?;
        let own = match code.own {
            Some(own) => own,
            None => {
                let own = loader::load(device, &code.program.own).map_err(loader::own_code)?;
                *code.own.insert(own)
            }
        };
        let kit = DeviceKernels { module: own };
        if let Some(module) = module {
            return Ok(Trusted { kit, by: TrustedBy::Module(module) });
        }
        let trusted = code.program.trusted.as_ref().zip(code.loader.as_mut());
        let (trusted, loader) = trusted.ok_or_else(missing)?;
        let program = trusted.case(case).ok_or_else(missing)?;
        let modules = loader.modules(device, program.variant).map_err(loader::own_code)?;
        Ok(Trusted { kit, by: TrustedBy::Kernel { program, modules } })
    }
}
