#![no_main]
lockgate_fuzz_targets::fuzz!("share_memory");
