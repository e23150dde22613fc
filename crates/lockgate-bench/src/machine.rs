//! Facts about the machine, so that two reports can be compared fairly.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

/// Facts by name: CPU, cores, kernel, memory, compiler, load, Lockgate's version. Unknown ones are left out.
pub fn facts() -> BTreeMap<&'static str, String> {
    let file = |path: &str| fs::read_to_string(path).ok();
    let field = |text: Option<String>, key: &str| {
        let line = text?.lines().find(|line| line.starts_with(key))?.to_owned();
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let first_line = |path: &str| Some(file(path)?.lines().next()?.trim().to_owned());
    let cores = std::thread::available_parallelism().ok().map(|count| count.to_string());
    let compiler = Command::new("gcc").arg("--version").output().ok();
    let compiler =
        compiler.and_then(|out| Some(String::from_utf8(out.stdout).ok()?.lines().next()?.to_owned()));
    let facts = [
        ("cpu", field(file("/proc/cpuinfo"), "model name")),
        ("cpu_family", field(file("/proc/cpuinfo"), "cpu family")),
        ("cpu_model", field(file("/proc/cpuinfo"), "model\t")),
        ("cores", cores),
        ("governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("kernel", first_line("/proc/sys/kernel/osrelease")),
        ("load", first_line("/proc/loadavg")),
        ("max_map_count", first_line("/proc/sys/vm/max_map_count")),
        ("memory", field(file("/proc/meminfo"), "MemTotal")),
        ("compiler", compiler),
        ("lockgate", Some(env!("CARGO_PKG_VERSION").to_owned())),
        ("build", Some(if cfg!(debug_assertions) { "debug" } else { "release" }.to_owned())),
    ];
    facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect()
}
