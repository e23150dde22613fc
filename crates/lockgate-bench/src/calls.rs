//! `calls.*`: what it costs to cross into a domain and back.
//!
//! All sides are called by the same loop with one integer argument, but for `calls.arguments.<number>`, under the policy that their
//! name says, *integrity* if it says none. The module of most sides
//! uses general registers only, as most modules' entry points do; that of `calls.host_to_domain.full_xstate` and of the sides
//! `calls.full_xstate.<preset>` contains x87, MXCSR and
//! AVX-512 instructions, which the function called may reach, so that its proxies keep and clear all state there is.
//! `calls.leaf.<preset>` calls a function of that module which reaches none of them. `calls.in_turn.<number>` goes through so many
//! domains, one call each: every call changes the window. The pages of all domains lie at the same offsets, and meet in the same sets of
//! the TLB: eight domains fit there on every processor that we know, 64 do not. (Sixteen are as many as a set has ways:
//! what such a call takes depends on what else is in that set.) `calls.long_jump.<number>` is what a
//! `longjmp` costs within a domain that leaves so many functions, their calls included; `calls.throw` a setjmp and a longjmp over
//! three, as in interpreters whose programs throw all the time, `calls.native_throw` the same by the system's C library. `calls.switch` is
//! one `swapcontext` between two contexts of a domain, `calls.native_switch` one of the system's C library, which makes a system call for
//! the mask of signals each time. `calls.signal` is one `raise` in a domain whose handler returns, `calls.native_signal` the same without
//! one; `calls.timer` and `calls.native_timer` are how long after a timer is due its handler begins, which interrupts a loop without calls, and
//! `calls.timer_later` the longest of either, compared; `calls.timer_between_calls` is how long after the beginning of such a loop, in a
//! call that began when the timer had sent its signal.

use crate::contexts_sys::NativeContexts;
use crate::dlopen_sys::{Plain, call};
use crate::gs_sys::write_gs_twice;
use crate::interleave::{Side, interleave, repeat};
use crate::preset::PRESETS;
use crate::signals_sys::{now, raise_many as raise_many_natively, timer_delay};
use crate::{Metric, Options, Pinned, objects};
use anyhow::{Context as _, bail};
use lockgate::{Domain, DomainOptions, Function, Module, OnFailure, Pointer, Policy};
use lockgate_corpus::Corpus;
use std::hint::black_box;
use std::time::Instant;

/// Samples of a full run.
const ROUNDS: usize = 1000;
/// Calls in one sample: the clock's own 20 ns vanish among them.
const CALLS: u32 = 2000;
/// Signals in one sample.
const SIGNALS: u32 = 2000;
/// How long after a timer is due the next call begins, nanoseconds: the library has looked by then.
const BETWEEN: i64 = 1_000_000;
/// Faults in one sample.
const FAULTS: u32 = 20;
/// Numbers of functions that a `longjmp` leaves.
const JUMPED_OVER: [i64; 3] = [1, 10, 100];
/// Numbers of domains that are called in turn.
const IN_TURN: [usize; 4] = [1, 8, 64, 1000];

type Number = extern "C" fn(i64) -> i64;

#[inline(never)]
extern "C" fn native(x: i64) -> i64 {
    x
}

/// Measures calls between the host and a domain.
pub fn measure(options: &Options) -> anyhow::Result<Vec<Metric>> {
    let folder = tempfile::tempdir()?;
    let source = Corpus::locate()?.root().join("bench/calls.c");
    let mut exports = [
        "long null_call(long x)",
        "long call_back(void *back, long x)",
        "long call_many(void *f, long n)",
        "void null_write(void)",
        "long jump_many(long depth, long n)",
        "long throw_many(long n)",
    ]
    .map(str::to_owned)
    .to_vec();
    exports
        .extend((0..=12).map(|count| format!("long arguments_{count}({})", vec!["long"; count].join(", "))));
    let exports: Vec<&str> = exports.iter().map(String::as_str).collect();
    let module = |name: &str, flags: &[&str], exports: &[&str]| -> anyhow::Result<_> {
        Ok(Module::open(objects::module(&source, name, flags, exports, folder.path())?)?)
    };
    let plain = module("plain", &[], &exports)?;
    let exports = [&exports[..], &["long full_xstate_call(long x)"]].concat();
    let full_xstate = module("full-xstate", &["-DFULL_XSTATE"], &exports)?;
    let domain = Domain::new(&plain, DomainOptions::new())?;
    let full_xstate = Domain::new(&full_xstate, DomainOptions::new())?;

    let native = black_box(native as Number);
    let null_full_xstate = full_xstate.bind_with::<Number>("full_xstate_call", Policy::INTEGRITY)?;
    let call_back =
        domain.bind_with::<extern "C" fn(Pointer<u8>, i64) -> i64>("call_back", Policy::INTEGRITY)?;
    let call_back_distrust =
        domain.bind_with::<extern "C" fn(Pointer<u8>, i64) -> i64>("call_back", Policy::MUTUAL_DISTRUST)?;
    let callback = domain.callback(self::native as Number).context("no callback is free")?;
    let null_write = domain.bind::<extern "C" fn()>("null_write")?;
    let jump_many = domain.bind::<extern "C" fn(i64, i64) -> i64>("jump_many")?;
    let throw_many = domain.bind::<Number>("throw_many")?;
    let natively = Plain::compile(&source, &folder.path().join("calls.so"))?;
    let throw_many_natively = natively.function("throw_many")?;
    let source = Corpus::locate()?.root().join("bench/contexts.c");
    let contexts = objects::module(&source, "contexts", &[], &["long switch_many(long n)"], folder.path())?;
    let contexts = Domain::new(&Module::open(contexts)?, DomainOptions::new())?;
    let switch_many = contexts.bind::<Number>("switch_many")?;
    let mut native_contexts = NativeContexts::new();
    let source = Corpus::locate()?.root().join("bench/signals.c");
    let signals = objects::module(
        &source,
        "signals",
        &[],
        &["long raise_many(long n)", "long arm(void)", "long wait_for_it(long since)", "long delay(void)"],
        folder.path(),
    )?;
    let signals = Domain::new(&Module::open(signals)?, DomainOptions::new())?;
    let raise_many = signals.bind::<Number>("raise_many")?;
    let delay = signals.bind::<extern "C" fn() -> i64>("delay")?;
    let arm = signals.bind::<extern "C" fn() -> i64>("arm")?;
    let wait_for_it = signals.bind::<Number>("wait_for_it")?;
    // The thread that looks at timers begins with the first: where the kernel likes, not on the processor that is measured on.
    delay.call()?;
    let in_turn = in_turn(&plain)?;
    let client = Domain::new(&plain, DomainOptions::new())?;
    let call_many = client.bind::<extern "C" fn(Pointer<u8>, i64) -> i64>("call_many")?;
    let across = PRESETS.iter().map(|preset| {
        let failure = OnFailure::default();
        Ok((preset.name, client.function_pointer(&domain, "long null_call(long)", preset.policy, failure)?))
    });
    let across = across.collect::<anyhow::Result<Vec<_>>>()?;

    let _pinned = Pinned::here()?;
    let mut sides = vec![Side::calls("calls.native_indirect", CALLS, || black_box(native(1)) == 1)];
    for preset in PRESETS {
        let null = preset.bind::<Number>(&domain, "null_call")?;
        let name = format!("calls.host_to_domain.{}", preset.name);
        sides.push(Side::timed(name, move || null_calls(&null)));
    }
    for (name, function) in [("full_xstate", "full_xstate_call"), ("leaf", "null_call")] {
        for preset in PRESETS {
            let call = preset.bind::<Number>(&full_xstate, function)?;
            sides.push(Side::timed(format!("calls.{name}.{}", preset.name), move || null_calls(&call)));
        }
    }
    for (preset, null) in &across {
        let call_many = &call_many;
        sides.push(Side::timed(format!("calls.domain_to_domain.{preset}"), move || {
            let start = Instant::now();
            black_box(call_many.call(null.pointer(), CALLS.into())?);
            Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
        }));
    }
    sides.push(Side::repeated("calls.two_gs_writes", CALLS, || {
        write_gs_twice();
        Ok(())
    }));
    sides.extend([
        Side::calls("calls.host_to_domain.full_xstate", CALLS, || {
            null_full_xstate.call(1).is_ok_and(|x| black_box(x) == 1)
        }),
        Side::calls("calls.host_to_domain.callback_mutual_distrust", CALLS, || {
            call_back_distrust.call(callback.pointer(), 1).is_ok_and(|x| black_box(x) == 1)
        }),
        Side::calls("calls.host_to_domain.callback", CALLS, || {
            call_back.call(callback.pointer(), 1).is_ok_and(|x| black_box(x) == 1)
        }),
        Side::repeated("calls.fault_recovery", FAULTS, || match null_write.call() {
            Err(error) if error.fault().is_some() => Ok(()),
            other => bail!("a null-pointer write was no fault: {other:?}"),
        }),
    ]);
    for depth in JUMPED_OVER {
        let jump_many = &jump_many;
        sides.push(Side::timed(format!("calls.long_jump.{depth}"), move || {
            let start = Instant::now();
            black_box(jump_many.call(depth, CALLS.into())?);
            Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
        }));
    }
    sides.push(Side::timed("calls.native_throw".to_owned(), || {
        let start = Instant::now();
        black_box(call(throw_many_natively, CALLS.into()));
        Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
    }));
    sides.push(Side::timed("calls.throw".to_owned(), || {
        let start = Instant::now();
        black_box(throw_many.call(CALLS.into())?);
        Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
    }));
    sides.push(Side::timed("calls.native_switch".to_owned(), || {
        let start = Instant::now();
        native_contexts.switch(CALLS);
        Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
    }));
    sides.push(Side::timed("calls.switch".to_owned(), || {
        let start = Instant::now();
        black_box(switch_many.call(CALLS.into())?);
        Ok(start.elapsed().as_nanos() as f64 / f64::from(CALLS))
    }));
    sides.push(Side::timed("calls.native_signal".to_owned(), || {
        let start = Instant::now();
        anyhow::ensure!(raise_many_natively(SIGNALS) == SIGNALS, "a signal was lost");
        Ok(start.elapsed().as_nanos() as f64 / f64::from(SIGNALS))
    }));
    sides.push(Side::timed("calls.signal".to_owned(), || {
        let start = Instant::now();
        anyhow::ensure!(raise_many.call(SIGNALS.into())? == i64::from(SIGNALS), "a signal was lost");
        Ok(start.elapsed().as_nanos() as f64 / f64::from(SIGNALS))
    }));
    sides.push(Side::timed("calls.native_timer".to_owned(), || Ok(timer_delay() as f64)));
    sides.push(Side::timed("calls.timer".to_owned(), || Ok(delay.call()? as f64)));
    sides.push(Side::timed("calls.timer_between_calls".to_owned(), || {
        let due = arm.call()?;
        while now() < due + BETWEEN {}
        Ok(wait_for_it.call(now())? as f64)
    }));
    sides.extend(arguments(&domain)?);
    for count in IN_TURN {
        let functions = in_turn.get(..count).context("as many domains as are called in turn")?;
        sides.push(Side::timed(format!("calls.in_turn.{count}"), move || one_by_one(functions)));
    }
    let samples = interleave("calls", options, ROUNDS, sides)?;
    let mut metrics = samples.iter().map(|samples| samples.metric("ns"));
    let native = metrics.next().context("the first side")?;
    let mut others: Vec<Metric> = metrics.map(|metric| metric.against(&native)).collect();
    for natively in ["calls.native_throw", "calls.native_switch", "calls.native_signal", "calls.native_timer"]
    {
        if let Some(at) = others.iter().position(|metric| metric.name == natively) {
            let [native, own] = [at, at + 1].map(|at| others[at].clone());
            others[at + 1] = own.against(&native);
        }
    }
    let latest = |name: &str| others.iter().find(|metric| metric.name == name).map(|metric| metric.max);
    if let [Some(native), Some(own)] = ["calls.native_timer", "calls.timer"].map(latest) {
        // (None is earlier but for other work on the machine.)
        others.push(Metric::new("calls.timer_later", "ns", vec![(own - native).max(1.0)]));
    }
    Ok([native].into_iter().chain(others).collect())
}

/// Nanoseconds of one call. The presets share this one loop, and what the other sides threw out of the caches comes back first: it
/// would be a fifth of a call otherwise, above all for the preset after the side that calls a thousand domains.
fn null_calls(null: &Function<Number>) -> anyhow::Result<f64> {
    #[inline(never)]
    fn calls(null: &Function<Number>, count: u32) -> bool {
        repeat(count, || null.call(1).is_ok_and(|x| black_box(x) == 1))
    }
    let warm = calls(null, CALLS / 10);
    let start = Instant::now();
    let done = calls(null, CALLS) && warm;
    let time = start.elapsed();
    anyhow::ensure!(done, "a call failed");
    Ok(time.as_nanos() as f64 / f64::from(CALLS))
}

/// A side for each number of arguments.
fn arguments(domain: &Domain) -> anyhow::Result<Vec<Side<'static>>> {
    macro_rules! side {
        ($count:literal: $($argument:literal)*) => {{
            let name = concat!("arguments_", $count);
            let function = domain.bind_with::<extern "C" fn($(replace!($argument i64)),*) -> i64>(name, Policy::INTEGRITY)?;
            Side::repeated(concat!("calls.arguments.", $count), CALLS, move || Ok(function.call($($argument),*)?))
        }};
    }
    macro_rules! replace {
        ($argument:literal $kind:ty) => {
            $kind
        };
    }
    Ok(vec![
        side!(0:),
        side!(1: 1),
        side!(2: 1 2),
        side!(3: 1 2 3),
        side!(4: 1 2 3 4),
        side!(5: 1 2 3 4 5),
        side!(6: 1 2 3 4 5 6),
        side!(7: 1 2 3 4 5 6 7),
        side!(8: 1 2 3 4 5 6 7 8),
        side!(9: 1 2 3 4 5 6 7 8 9),
        side!(10: 1 2 3 4 5 6 7 8 9 10),
        side!(11: 1 2 3 4 5 6 7 8 9 10 11),
        side!(12: 1 2 3 4 5 6 7 8 9 10 11 12),
    ])
}

/// The null call of as many domains as any side calls in turn.
fn in_turn(module: &std::sync::Arc<Module>) -> anyhow::Result<Vec<Function<Number>>> {
    let most = IN_TURN.into_iter().max().unwrap_or(0);
    (0..most)
        .map(|_| Ok(Domain::new(module, DomainOptions::new())?.bind_with("null_call", Policy::INTEGRITY)?))
        .collect()
}

/// Calls all `functions`, again and again; nanoseconds for one call. As in [`null_calls`], what the other sides threw out of the caches
/// comes back first: the side before this one may have called a thousand domains.
fn one_by_one(functions: &[Function<Number>]) -> anyhow::Result<f64> {
    let calls = |rounds: usize| -> anyhow::Result<()> {
        for _ in 0..rounds {
            for function in functions {
                black_box(function.call(1)?);
            }
        }
        Ok(())
    };
    // (Two rounds would measure what comes back from memory, the most where the sides before take the most room.)
    let rounds = (CALLS as usize).div_ceil(functions.len()).max(20);
    calls(rounds.div_ceil(4))?;
    let start = Instant::now();
    calls(rounds)?;
    Ok(start.elapsed().as_nanos() as f64 / (rounds * functions.len()) as f64)
}
