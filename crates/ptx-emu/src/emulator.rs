//! The device: buffers that live between launches, and launches.

use std::collections::HashMap;

use crate::{
    exec::{self, HOST_WRITTEN, Launch},
    memory::{BufferId, Memory, WRITTEN},
    module::Module,
    options::Options,
    report::Report,
};

/// Facts of the emulated device that kernels can see.
#[derive(Debug, Clone)]
pub struct Config {
    /// Multiprocessors.
    pub n_sm: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { n_sm: 132 }
    }
}

/// An emulated device.
#[derive(Debug, Default)]
pub struct Emulator {
    config: Config,
    memory: Memory,
    /// Addresses of the variables of each module seen so far.
    modules: HashMap<u64, Vec<u64>>,
}

impl Emulator {
    /// A device with empty memory.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, ..Self::default() }
    }

    /// A new buffer of `bytes` bytes. Its contents are uninitialised: a kernel that reads them
    /// faults. `label` and `element_bytes` serve messages.
    pub fn alloc(&mut self, label: &str, bytes: usize, element_bytes: usize) -> BufferId {
        self.memory.alloc(label, bytes, element_bytes)
    }

    /// Ends the life of a buffer; later accesses fault.
    pub fn free(&mut self, buffer: BufferId) {
        self.memory.free(buffer);
    }

    /// Address of a buffer's first byte, a multiple of 256.
    #[must_use]
    pub fn address(&self, buffer: BufferId) -> u64 {
        Memory::address(buffer)
    }

    /// Writes the start of a buffer and marks it initialised.
    ///
    /// # Panics
    /// If `bytes` is longer than the buffer.
    pub fn write(&mut self, buffer: BufferId, bytes: &[u8]) {
        let buffer = &mut self.memory.buffers[buffer.0 as usize];
        buffer.data[..bytes.len()].copy_from_slice(bytes);
        if bytes.len() == buffer.data.len() {
            buffer.flags = None;
        } else if let Some(flags) = &mut buffer.flags {
            flags[..bytes.len()].fill(HOST_WRITTEN);
        }
    }

    /// Contents of a buffer.
    #[must_use]
    pub fn bytes(&self, buffer: BufferId) -> &[u8] {
        &self.memory.buffers[buffer.0 as usize].data
    }

    /// Fills a buffer with a repeated pattern and marks it uninitialised and unwritten.
    pub fn poison(&mut self, buffer: BufferId, pattern: &[u8]) {
        let buffer = &mut self.memory.buffers[buffer.0 as usize];
        if !pattern.is_empty() {
            for (byte, value) in buffer.data.iter_mut().zip(pattern.iter().cycle()) {
                *byte = *value;
            }
        }
        buffer.flags = Some(vec![0; buffer.data.len()]);
    }

    /// Which bytes kernels wrote since the buffer was made or last poisoned; all, if the host wrote
    /// the whole buffer since.
    #[must_use]
    pub fn written(&self, buffer: BufferId) -> Vec<bool> {
        let buffer = &self.memory.buffers[buffer.0 as usize];
        match &buffer.flags {
            Some(flags) => flags.iter().map(|f| f & WRITTEN != 0).collect(),
            None => vec![true; buffer.data.len()],
        }
    }

    /// Runs a kernel. The module's variables keep their values between launches; memory is as the
    /// kernel left it, however it ended.
    pub fn launch(&mut self, module: &Module, launch: &Launch, options: &Options) -> Report {
        let memory = &mut self.memory;
        let addresses = self
            .modules
            .entry(module.id())
            .or_insert_with(|| exec::instantiate(module.program(), memory));
        exec::launch(module, memory, addresses, launch, options, self.config.n_sm)
    }
}
