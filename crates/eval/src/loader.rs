//! Code of a program on a device: loaded when it is first needed.

use kgen_device::{Device, Image, ModuleId};

use super::{Error, Program, Variant, error::EvalError, external::External, session::Modules};

/// Loads variants when they are first needed.
pub(super) struct Loader<'a> {
    pub(super) program: &'a Program,
    loaded: Vec<Option<ModuleId>>,
    copy: Option<ModuleId>,
    external: Option<&'a dyn External>,
}

impl<'a> Loader<'a> {
    /// Returns a loader for a program of which nothing is loaded.
    pub(super) fn new(program: &'a Program) -> Self {
        let loaded = vec![None; program.variants.len()];
        Self { program, loaded, copy: None, external: None }
    }

    /// Returns a loader for what is called and not loaded; `program` launches nothing.
    pub(super) fn of_external(program: &'a Program, external: &'a dyn External) -> Self {
        Self { external: Some(external), ..Self::new(program) }
    }

    /// Unloads all modules; they are loaded anew when they are needed again.
    pub(super) fn unload(&mut self, device: &mut dyn Device) {
        let loaded = self.loaded.iter_mut().map(Option::take);
        for module in loaded.chain([self.copy.take()]).flatten() {
            device.unload(module);
        }
    }

    /// Returns the modules that a case of this variant needs.
    ///
    /// A refusal of the device's is a [`LaunchError::Kernel`].
    pub(super) fn modules(
        &mut self,
        device: &mut dyn Device,
        variant: usize,
    ) -> Result<Modules<'a>, EvalError> {
        if let Some(external) = self.external {
            return Ok(Modules::external(external));
        }
        // A program that calls a library has no variants.
        let compiled = self.loaded.get_mut(variant).zip(self.program.variants.get(variant));
        let candidate = match compiled {
            None => None,
            Some((Some(module), _)) => Some(*module),
            Some((slot, code)) => Some(*slot.insert(load(device, code)?)),
        };
        if let (None, Some(copy)) = (self.copy, &self.program.copy) {
            self.copy = Some(load(device, copy).map_err(own_code)?);
        }
        Ok(Modules::loaded(candidate, self.copy))
    }
}

/// Turns the device's refusal of a kernel of kgen's own into a failure of kgen.
pub(super) fn own_code(error: EvalError) -> Error {
    match error.into_refusal() {
        Ok((_, finding)) => Error::OwnKernels(finding.message),
        Err(error) => error,
    }
}

/// Loads one variant.
pub(super) fn load(device: &mut dyn Device, variant: &Variant) -> Result<ModuleId, EvalError> {
    Ok(device.load(&Image { ptx: &variant.ptx, cubin: &variant.cubin })?)
}
