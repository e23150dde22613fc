//! The Wasmtime side of `lockgate-bench ipc`: the callee is WebAssembly in this process, called through Wasmtime's Rust API,
//! `typed` or `untyped` as the argument says. Speaks the peers' protocol (bench/peers/peer.h).
//!
//! An argument of one byte is a parameter of the call; larger ones are copied into the instance's memory, and
//! the call gets their place and size. Every call's result is checked.

use std::io::{BufRead as _, Write as _};
use std::time::Instant;
use wasmtime::error::Context as _;
use wasmtime::{
    Config, Engine, Func, Instance, Memory, Module, OptLevel, Store, TypedFunc, Val, bail, ensure,
};

/// Where the argument lies in the instance's memory.
const PLACE: i32 = 65_536;

/// A way to call the two exports.
trait Callee {
    fn byte(&mut self, store: &mut Store<()>, argument: i32) -> wasmtime::Result<i64>;
    fn total(&mut self, store: &mut Store<()>, size: i32) -> wasmtime::Result<i64>;
}

/// By functions whose types were checked when they were bound.
struct Typed {
    byte: TypedFunc<i32, i64>,
    total: TypedFunc<(i32, i32), i64>,
}

impl Callee for Typed {
    fn byte(&mut self, store: &mut Store<()>, argument: i32) -> wasmtime::Result<i64> {
        self.byte.call(store, argument)
    }

    fn total(&mut self, store: &mut Store<()>, size: i32) -> wasmtime::Result<i64> {
        self.total.call(store, (PLACE, size))
    }
}

/// By functions whose types are checked at every call.
struct Untyped {
    byte: Func,
    total: Func,
}

impl Callee for Untyped {
    fn byte(&mut self, store: &mut Store<()>, argument: i32) -> wasmtime::Result<i64> {
        let mut results = [Val::I64(0)];
        self.byte.call(store, &[Val::I32(argument)], &mut results)?;
        results[0].i64().context("the result is an i64")
    }

    fn total(&mut self, store: &mut Store<()>, size: i32) -> wasmtime::Result<i64> {
        let mut results = [Val::I64(0)];
        self.total.call(store, &[Val::I32(PLACE), Val::I32(size)], &mut results)?;
        results[0].i64().context("the result is an i64")
    }
}

fn main() -> wasmtime::Result<()> {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed);
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, include_str!("callee.wat"))?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let memory = instance.get_memory(&mut store, "memory").context("the module exports its memory")?;
    match std::env::args().nth(1).as_deref() {
        Some("typed") => {
            let byte = instance.get_typed_func(&mut store, "byte")?;
            let total = instance.get_typed_func(&mut store, "total")?;
            serve(store, memory, Typed { byte, total })
        }
        Some("untyped") => {
            let function =
                |store: &mut Store<()>, name| instance.get_func(store, name).context("no such export");
            let (byte, total) = (function(&mut store, "byte")?, function(&mut store, "total")?);
            serve(store, memory, Untyped { byte, total })
        }
        _ => bail!("usage: wasmtime-peer typed|untyped"),
    }
}

/// Answers every line `SIZE COUNT` with the nanoseconds that COUNT calls took.
fn serve(mut store: Store<()>, memory: Memory, mut callee: impl Callee) -> wasmtime::Result<()> {
    let place = PLACE as usize;
    let mut argument = vec![0_u8; 1 << 20];
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (size, count) = line.split_once(' ').context("a request is SIZE COUNT")?;
        let (size, count): (usize, u64) = (size.parse()?, count.parse()?);
        let start = Instant::now();
        for call in 0..count {
            let value = call as u8;
            let result = if size == 1 {
                callee.byte(&mut store, i32::from(value))?
            } else {
                argument[..size].fill(value);
                memory.data_mut(&mut store)[place..place + size].copy_from_slice(&argument[..size]);
                callee.total(&mut store, size as i32)?
            };
            ensure!(result as u64 == expected(size, value), "wrong result for {size} bytes of {value}");
        }
        let elapsed = start.elapsed().as_nanos();
        println!("{elapsed}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// The callee's result for `size` bytes of `value`: as `expected` of bench/peers/work.h.
fn expected(size: usize, value: u8) -> u64 {
    let word = u64::from(value) * 0x0101_0101_0101_0101;
    word.wrapping_mul((size / 8) as u64).wrapping_add(u64::from(value) * (size % 8) as u64)
}
