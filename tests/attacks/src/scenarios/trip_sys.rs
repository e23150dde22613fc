//! Of controls: steps on the tripwire that is named as the function, as a module would that has got out.
use crate::common::host_sys;
use crate::expect::Ending;
use crate::world::{World, out_of_reach};
use anyhow::{Result, bail};
use lockgate_evidence::Kept;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::fs;

pub(super) fn run(world: &mut World) -> Result<Ending> {
    let outside = world.folder("outside");
    match world.attack.description.call.function.as_str() {
        "memory" => world.memory[4][77] ^= 1,
        "secret" => world.secret[100] = 0,
        "code" => drop(out_of_reach()),
        "registers" => world.kept.push(Kept { registers: 1, ..Kept::default() }),
        "x87" => {
            // SAFETY: one register of the x87 stays in use; nothing of Rust uses it.
            unsafe { std::arch::asm!("fld1") };
            world.x87_sums.push(host_sys::x87_sum());
        }
        "neighbour" => world.neighbour.harm()?,
        "neighbour-dead" => world.neighbour.domain.kill(),
        "file-changed" => fs::write(outside.join("secret.txt"), "666")?,
        "file-added" => fs::write(outside.join("more.txt"), "")?,
        "umask" => drop(rustix::process::umask(rustix::fs::Mode::empty())),
        "directory" => std::env::set_current_dir("/")?,
        "executable" => {
            // SAFETY: a new mapping that nobody uses.
            unsafe { mmap_anonymous(std::ptr::null_mut(), 4096, ProtFlags::all(), MapFlags::PRIVATE)? };
        }
        "learned" => {
            world.neighbour.domain.alloc_slice(&world.secret[..1])?;
            world.keep_secret(&world.neighbour.domain)?;
        }
        "crash" => std::process::abort(),
        other => bail!("there is no tripwire {other:?}"),
    }
    Ok(Ending::Returned(0))
}
