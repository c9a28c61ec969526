//! The device: buffers that live between launches, and launches.

use std::{
    collections::{HashMap, hash_map::Entry},
    ops::Range,
};

use crate::{
    exec::{self, Before, HOST_WRITTEN, Launch, Source},
    finding::Finding,
    memory::{AllocError, Buffer, BufferId, INITIALISED, Memory, WRITTEN},
    module::Module,
    options::Options,
    report::{LaunchError, Report},
};

/// Facts of the emulated device that kernels can see.
#[derive(Debug, Clone)]
pub struct Config {
    /// Multiprocessors.
    pub n_sm: u32,
    /// Bytes of global memory: most that buffers have in all. The host needs twice that for the
    /// pages that are touched.
    pub memory_bytes: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self { n_sm: 132, memory_bytes: 80 << 30 }
    }
}

/// An emulated device.
#[derive(Debug)]
pub struct Emulator {
    config: Config,
    memory: Memory,
    /// Addresses of the variables of each module seen so far.
    modules: HashMap<u64, Vec<u64>>,
    /// Launches that a dependent one would overlap, the last one last.
    before: Vec<Before>,
}

impl Default for Emulator {
    fn default() -> Self {
        Self::new(Config::default())
    }
}

impl Emulator {
    /// A device with empty memory.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let memory = Memory::new(config.memory_bytes);
        Self { config, memory, modules: HashMap::new(), before: Vec::new() }
    }

    /// A new buffer of `bytes` bytes. Its contents are uninitialised: a kernel that reads them
    /// faults. `label` and `element_bytes` serve messages. Pages that nobody touches cost nothing.
    ///
    /// # Errors
    /// If the device or the host has not so much memory left.
    pub fn try_alloc(
        &mut self,
        label: &str,
        bytes: usize,
        element_bytes: usize,
    ) -> Result<BufferId, AllocError> {
        self.memory.alloc(label, bytes, element_bytes)
    }

    /// [`try_alloc`](Self::try_alloc) for sizes that are known to be small.
    ///
    /// # Panics
    /// Where `try_alloc` fails.
    pub fn alloc(&mut self, label: &str, bytes: usize, element_bytes: usize) -> BufferId {
        self.try_alloc(label, bytes, element_bytes)
            .unwrap_or_else(|error| panic!("buffer `{label}`: {error}"))
    }

    /// Ends the life of a buffer; later accesses fault.
    pub fn free(&mut self, buffer: BufferId) {
        self.before.clear();
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
        self.before.clear();
        let buffer = &mut self.memory.buffers[buffer.0 as usize];
        buffer.data[..bytes.len()].copy_from_slice(bytes);
        if bytes.len() == buffer.data.len() {
            buffer.flags = None;
        } else if let Some(flags) = &mut buffer.flags {
            flags[..bytes.len()].fill(HOST_WRITTEN);
        }
    }

    /// Writes a part of a buffer, from its byte `at`, in place of a kernel: it then is initialised and
    /// written.
    ///
    /// # Panics
    /// If the part ends beyond the buffer.
    pub fn write_as_kernel(&mut self, buffer: BufferId, at: usize, bytes: &[u8]) {
        self.before.clear();
        let buffer = &mut self.memory.buffers[buffer.0 as usize];
        buffer.data[at..][..bytes.len()].copy_from_slice(bytes);
        if let Some(flags) = &mut buffer.flags {
            flags[at..][..bytes.len()].fill(INITIALISED | WRITTEN);
        }
    }

    /// First byte of a part of a buffer that is uninitialised.
    ///
    /// # Panics
    /// If the part ends beyond the buffer.
    #[must_use]
    pub fn uninitialised(&self, buffer: BufferId, part: Range<usize>) -> Option<usize> {
        let flags = self.memory.buffers[buffer.0 as usize].flags.as_ref()?;
        let first = flags[part.clone()].iter().position(|flags| flags & INITIALISED == 0)?;
        Some(part.start + first)
    }

    /// Name of a buffer in messages.
    #[must_use]
    pub fn label(&self, buffer: BufferId) -> &str {
        &self.memory.buffers[buffer.0 as usize].label
    }

    /// Contents of a buffer.
    #[must_use]
    pub fn bytes(&self, buffer: BufferId) -> &[u8] {
        &self.memory.buffers[buffer.0 as usize].data
    }

    /// Fills a buffer with a repeated pattern and marks it uninitialised and unwritten.
    pub fn poison(&mut self, buffer: BufferId, pattern: &[u8]) {
        self.before.clear();
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

    /// Elements that kernels did not write since the buffer was made or last poisoned, as ranges;
    /// one that was written in part counts as not written. None, if the host wrote the whole buffer
    /// since.
    #[must_use]
    pub fn unwritten(&self, buffer: BufferId) -> Vec<Range<u64>> {
        let buffer = &self.memory.buffers[buffer.0 as usize];
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let elements = buffer.flags.iter().flat_map(|f| f.chunks(buffer.element_bytes));
        for (index, element) in (0_u64..).zip(elements) {
            if element.iter().all(|f| f & WRITTEN != 0) {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.end == index => last.end += 1,
                _ => ranges.push(index..index + 1),
            }
        }
        ranges
    }

    /// The finding that a buffer, which the kernel should have written whole, is not; its ranges
    /// are those of [`unwritten`](Self::unwritten).
    #[must_use]
    pub fn unwritten_finding(&self, buffer: BufferId, kernel: &str) -> Option<Finding> {
        let Buffer { label, data, element_bytes, .. } = &self.memory.buffers[buffer.0 as usize];
        let elements = (data.len() / element_bytes) as u64;
        Finding::unwritten(kernel, label, elements, &self.unwritten(buffer))
    }

    /// The buffer of a module's variable in global or constant memory, which the host may
    /// [write](Self::write) and read between launches. `name` is that of the PTX or of the source.
    ///
    /// # Errors
    /// If the module has no such variable, or the device no room for its variables.
    pub fn variable(&mut self, module: &Module, name: &str) -> Result<BufferId, LaunchError> {
        let variables = || (0..).zip(&module.program().variables).filter(|(_, v)| v.is_global());
        let found = variables().find(|(_, v)| v.name == name);
        let found = found.or_else(|| variables().find(|(_, v)| v.label == name));
        let Some((index, _)) = found else {
            let message =
                format!("the module has no variable `{name}` in global or constant memory");
            return Err(LaunchError::Launch { message });
        };
        let index: usize = index;
        let address = instantiate(&mut self.modules, module, &mut self.memory)?[index];
        let buffer = self.memory.decode(address).map(|(buffer, _)| BufferId(buffer as u32));
        buffer.ok_or_else(|| LaunchError::Launch { message: format!("`{name}` has no memory") })
    }

    /// Runs a kernel. The module's variables keep their values between launches; memory is as the
    /// kernel left it, however it ended.
    pub fn launch(&mut self, module: &Module, launch: &Launch, options: &Options) -> Report {
        let memory = &mut self.memory;
        let addresses = match instantiate(&mut self.modules, module, memory) {
            Ok(addresses) => addresses,
            Err(error) => return Report::refused(error),
        };
        let n_sm = self.config.n_sm;
        if !options.dependent {
            self.before.clear();
        }
        let before = self.before.as_slice();
        let source =
            Source { module, variable_addresses: addresses, launch, options, n_sm, before };
        let (report, left) = exec::launch(memory, source);
        // A launch that began the next one ahead of its own wait leaves the one before it running.
        let kept = usize::from(left.as_ref().is_some_and(Before::has_predecessors));
        self.before.drain(..self.before.len().saturating_sub(kept));
        self.before.extend(left);
        report
    }
}

/// Addresses of the module's variables, which are made when they are first asked for.
fn instantiate<'a>(
    modules: &'a mut HashMap<u64, Vec<u64>>,
    module: &Module,
    memory: &mut Memory,
) -> Result<&'a [u64], LaunchError> {
    Ok(match modules.entry(module.id()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(place) => place.insert(exec::instantiate(module.program(), memory)?),
    })
}
