//! `/tmp/perf-PID.map`: names of code made at run time, as `perf` reads them (Linux, tools/perf/Documentation/jit-interface.txt).
//! Only with `LOCKGATE_PERF_MAP=1`.
//!
//! All users may write in `/tmp`: the file is only ever made new, never followed and never shared. A file in its place that belongs
//! to this user is what an earlier process with this number has left, and goes; another user's stays, and there is no map.
use crate::host::{PerProcess, environment, kept, stack_sys, tell};
use lockgate_abi::window;
use lockgate_symbols::{Symbols, printable, shown};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fmt::Write as _;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Names `length` bytes of code at `address`.
pub(crate) fn list(address: usize, length: usize, name: impl FnOnce() -> String) {
    if environment::perf_map() {
        append(&line(address as u64, length as u64, &name()));
    }
}

/// Names the code of a module with these symbols in the window at `base`, of the domain called `domain`.
pub(crate) fn list_module<'a>(base: u64, domain: &str, symbols: impl FnOnce() -> &'a Symbols) {
    if !environment::perf_map() {
        return;
    }
    let thunks = window::IMAGE - window::THUNKS;
    let mut text = line(base + window::THUNKS, thunks, &format!("gates [{domain}]"));
    let room = stack_sys::left();
    for (start, length, name) in symbols().functions() {
        text += &line(base + window::IMAGE + start, length, &format!("{} [{domain}]", shown(name, room)));
    }
    append(&text);
}

fn line(address: u64, length: u64, name: &str) -> String {
    let mut line = String::new();
    let _ = writeln!(line, "{address:x} {length:x} {}", printable(name.as_bytes()));
    line
}

fn append(text: &str) {
    static FILE: PerProcess<OnceLock<Option<Mutex<OwnedFd>>>> = PerProcess::new(OnceLock::new);
    let file = FILE.get_or_init(|| {
        let path = format!("/tmp/perf-{}.map", std::process::id());
        match create(&path) {
            Ok(file) => Some(Mutex::new(file)),
            Err(error) => {
                tell(format_args!("no names for perf: {path}: {error}; remove what is there"));
                None
            }
        }
    });
    if let Some(file) = file {
        let file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rest = text.as_bytes();
        // A full disk costs names, nothing else.
        while let Ok(written @ 1..) = rustix::io::write(&*file, rest) {
            rest = &rest[written..];
        }
    }
}

fn create(path: &str) -> Result<OwnedFd, Errno> {
    let flags =
        OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let new = || rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).and_then(kept);
    match new() {
        Err(Errno::EXIST) => {
            let owner = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?.st_uid;
            if owner != rustix::process::geteuid().as_raw() {
                return Err(Errno::EXIST);
            }
            rustix::fs::unlink(path)?;
            new()
        }
        done => done,
    }
}
