//! State of a GPU while it measures.

use cudarc::driver::{result::device, sys::CUdevice_attribute};
use kgen_measure::{Fingerprint, Session};

use super::CudaDevice;
use crate::{LaunchError, nvml::Monitor};

impl CudaDevice {
    /// Begins to watch the GPU and takes the measurements that all others rest on, in about 0.2 s.
    ///
    /// # Errors
    ///
    /// [`LaunchError::Machine`] where the GPU cannot run kgen's own kernels.
    pub fn begin_session(&mut self) -> Result<&Session, LaunchError> {
        let uuid = self.target.uuid.clone().unwrap_or_default();
        let mut fingerprint = self.fingerprint();
        match Monitor::open(&uuid) {
            Ok(monitor) => {
                monitor.describe(&mut fingerprint);
                fingerprint.n_foreign_processes = monitor.n_foreign(&self.own);
                self.monitor = Some(monitor);
            }
            Err(line) => tracing::info!("{line}"),
        }
        let calibration = self.calibrate()?;
        Ok(self.session.insert(Session { fingerprint, calibration }))
    }

    /// Returns the facts that the driver itself reports.
    fn fingerprint(&self) -> Fingerprint {
        let target = &self.target;
        let attribute = |which| {
            // SAFETY: the handle is one that the driver gave.
            let value = unsafe { device::get_attribute(self.gpu, which) };
            value.ok().and_then(|value| u32::try_from(value).ok()).filter(|value| *value > 0)
        };
        let mhz = |which| attribute(which).map(|khz| f64::from(khz) / 1e3);
        Fingerprint {
            gpu_uuid: target.uuid.clone(),
            name: Some(target.name.clone()),
            compute_capability: Some((target.cc_major, target.cc_minor)),
            sm_count: Some(target.sm_count),
            l2_bytes: Some(target.l2_bytes),
            memory_bytes: Some(target.memory_bytes),
            memory_mhz: mhz(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
            bus_bits: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
            max_sm_mhz: mhz(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
            cuda: target
                .driver_version
                .map(|version| format!("{}.{}", version / 1000, version % 1000 / 10)),
            ecc: attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_ECC_ENABLED).map(|on| on != 0),
            kgen: Some(env!("CARGO_PKG_VERSION").to_owned()),
            ..Fingerprint::default()
        }
    }
}
