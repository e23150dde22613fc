#![no_main]
lockgate_fuzz_targets::fuzz!("link");
