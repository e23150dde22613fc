//! The benchmarks that take seconds run, and yield the metrics that SPECIFICATION.md names. What they measure is not judged
//! here: that depends on the machine and its load.

use crate::common::{QUICK, has};
use lockgate_bench::{Options, calls, capi, ipc, languages, running};
use std::path::PathBuf;

#[test]
fn calls_are_compared_with_a_native_one() {
    let metrics = calls::measure(&QUICK).unwrap();
    has(
        &metrics,
        &[
            ("calls.native_indirect", "ns"),
            ("calls.host_to_domain.integrity", "ns"),
            ("calls.host_to_domain.callback", "ns"),
            ("calls.fault_recovery", "ns"),
            ("calls.long_jump.10", "ns"),
            ("calls.native_throw", "ns"),
            ("calls.throw", "ns"),
            ("calls.native_switch", "ns"),
            ("calls.switch", "ns"),
            ("calls.native_signal", "ns"),
            ("calls.signal", "ns"),
            ("calls.native_timer", "ns"),
            ("calls.timer", "ns"),
            ("calls.timer_between_calls", "ns"),
            ("calls.timer_later", "ns"),
            ("calls.arguments.0", "ns"),
            ("calls.arguments.12", "ns"),
            ("calls.in_turn.1", "ns"),
            ("calls.in_turn.1000", "ns"),
        ],
    );
    let call = metrics.iter().find(|metric| metric.name == "calls.host_to_domain.integrity").unwrap();
    assert!(call.ratios["calls.native_indirect"] > 1.0);
    let throw = metrics.iter().find(|metric| metric.name == "calls.throw").unwrap();
    assert!(throw.ratios.contains_key("calls.native_throw"));
}

#[test]
fn a_host_in_c_is_compared_with_one_in_rust() {
    let metrics = capi::measure(&QUICK).unwrap();
    has(
        &metrics,
        &[
            ("capi.call", "ns"),
            ("capi.arena", "ns"),
            ("capi.lend", "ns"),
            ("calls.host_to_domain.integrity", "ns"),
        ],
    );
    assert!(metrics[0].ratios["calls.host_to_domain.integrity"] > 0.5);
}

/// A program in C++, on both sides: what they print is compared. (Rust's take a minute to build.)
#[test]
fn programs_in_cxx_do_the_same_work() {
    let Some(lockgate) = lockgate() else {
        return support::skipped("bench languages", "no lockgate beside this program: cargo build");
    };
    let options = Options { quick: true, only: Some("languages.cpp.throws".to_owned()) };
    let metrics = languages::measure(&options, &lockgate).unwrap();
    has(
        &metrics,
        &[
            ("time.cpp.throws.native", "s"),
            ("time.cpp.throws.sandboxed", "s"),
            ("languages.cpp.throws", "ratio"),
            ("languages.geomean", "ratio"),
            ("languages.cpp.code_size", "ratio"),
        ],
    );
}

/// The program, which a build of the workspace puts where this one is, or one folder above.
fn lockgate() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    own.ancestors().skip(1).take(2).map(|folder| folder.join("lockgate")).find(|program| program.exists())
}

/// Programs that run are called and restarted beside other processes, and what is measured is named with its placement.
#[test]
fn programs_are_called_while_they_run() {
    let Some(lockgate) = lockgate() else {
        return support::skipped("bench programs", "no lockgate beside this program: cargo build");
    };
    let report = running::measure(&QUICK, &lockgate).unwrap();
    for (name, unit) in [
        ("call.host.mutual_trust", "ns"),
        ("call.program.mutual_distrust", "ns"),
        ("peer.unix_socket_same_cpu", "ns"),
        ("process.same_cpu", "ns"),
        ("process.same_cpu.ratio", "ratio"),
        ("restart", "ms"),
        ("system_call.clock_gettime.added", "ns"),
        ("system_call.open_close.native", "ns"),
    ] {
        has(&report.metrics, &[(&format!("programs.{name}"), unit)]);
    }
    let redis = "programs.redis.get.ratio";
    assert!(report.get(redis).is_some() || report.notes.join("\n").contains("make redis"));
}

#[test]
fn other_kinds_of_calls_do_the_same_work() {
    let report = ipc::measure(&QUICK).unwrap();
    for peer in [
        "function",
        "system_call",
        "lockgate_integrity",
        "semaphore_same_cpu",
        "pipe_same_cpu",
        "unix_socket_same_cpu",
    ] {
        for size in ipc::SIZES {
            has(&report.metrics, &[(&format!("ipc.{peer}.{size}"), "ns")]);
        }
    }
    for ratio in ["semaphore_same_cpu", "pipe", "unix_socket", "system_call", "function"] {
        has(&report.metrics, &[(&format!("ipc.ratio.{ratio}"), "ratio")]);
    }
    // What is not here is named, with what to install.
    assert!(
        report.get("ipc.ratio.rpcgen_unix").is_some() || report.notes.join("\n").contains("rpcsvc-proto")
    );
}
