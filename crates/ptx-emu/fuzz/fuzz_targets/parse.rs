//! Any text parses or is refused, and a module with kernels can be launched.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptx_emu::{Emulator, Launch, Limits, Module, Options};

fuzz_target!(|text: &str| {
    let Ok(module) = Module::parse(text) else { return };
    drop(module.unknown_instructions());
    for kernel in module.kernels() {
        assert!(module.usage(kernel).is_some());
        let sizes = module.param_sizes(kernel).unwrap_or_default();
        if sizes.iter().any(|n| *n > 1 << 16) {
            continue;
        }
        let mut emulator = Emulator::default();
        let buffer = emulator.alloc("x", 4096, 4);
        emulator.write(buffer, &[0; 4096]);
        let address = emulator.address(buffer).to_le_bytes();
        let args = sizes.iter().map(|n| address.iter().copied().cycle().take(*n).collect());
        let launch = Launch {
            kernel: kernel.to_owned(),
            grid: [2, 1, 1],
            block: [48, 1, 1],
            args: args.collect(),
            ..Launch::default()
        };
        let limits = Limits { lane_instructions: 100_000, ..Limits::default() };
        emulator.launch(&module, &launch, &Options { limits, ..Options::default() });
    }
});
