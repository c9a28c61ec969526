//! The code of full-size cases, loaded when it is first needed.

use kgen_device::{Device, ModuleId};

use super::device_kernels::DeviceKernels;
use crate::{
    CaseProgram, Error, FullSizeProgram,
    loader::{self, Loader},
    session::Modules,
};

/// The kernel that outputs are compared with, beside kgen's own.
#[derive(Clone, Copy)]
pub(crate) struct Trusted<'a> {
    pub(super) kit: DeviceKernels,
    pub(super) program: &'a CaseProgram,
    pub(super) modules: Modules<'a>,
}

impl<'a> Trusted<'a> {
    /// Returns the trusted kernel's program of the case.
    pub(crate) const fn program(&self) -> &'a CaseProgram {
        self.program
    }
}

/// The loaded kernels for full-size cases.
pub(crate) struct Loaded<'a> {
    code: Option<Code<'a>>,
}

struct Code<'a> {
    program: &'a FullSizeProgram,
    loader: Loader<'a>,
    own: Option<ModuleId>,
}

impl<'a> Loaded<'a> {
    /// Loads nothing yet.
    pub(crate) fn new(program: Option<&'a FullSizeProgram>) -> Self {
        let code = |program: &'a FullSizeProgram| Code {
            program,
            loader: Loader::new(&program.trusted),
            own: None,
        };
        Self { code: program.map(code) }
    }

    /// Returns the trusted kernel for a case that it takes.
    pub(crate) fn load(
        &mut self,
        device: &mut dyn Device,
        case: usize,
    ) -> Result<Trusted<'a>, Error> {
        let missing = || Error::OwnKernels("the case has no trusted kernel".to_owned());
        let code = self.code.as_mut().ok_or_else(missing)?;
        let program = code.program.trusted.case(case).ok_or_else(missing)?;
        let own = match code.own {
            Some(own) => own,
            None => {
                let own = loader::load(device, &code.program.own).map_err(loader::own_code)?;
                *code.own.insert(own)
            }
        };
        let modules = code.loader.modules(device, program.variant).map_err(loader::own_code)?;
        Ok(Trusted { kit: DeviceKernels { module: own }, program, modules })
    }
}
