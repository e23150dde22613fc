//! A module's side of system calls: a small window, pointers into it, and calls by number.
use lockgate_syscall::{
    Access, Answer, Exchange, Grants, Memory, Outcome, Placement, Process, Protection, Resize, Sleep,
    SyscallContext, Thread, dispatch, quick,
};
use rustix::event::{PollFd, Timespec};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::thread::futex;
use std::collections::BTreeMap;
use std::io::{IoSlice, IoSliceMut};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub const BASE: u64 = 0x12_0000_0000;
pub const PAGE: u64 = 4096;
const SIZE: u64 = 4 << 20;
/// The first page is the null guard; the next 1 MiB hold arguments; brk and mmap share the rest.
const ARGUMENTS: Range<u64> = PAGE..1 << 20;
const HEAP: u64 = 1 << 20;

/// How threads sleep that no handler leaves by a jump.
struct Asleep;

impl Sleep for Asleep {
    fn rests(&self) {}

    fn has_waited(&self) {}

    fn wait(&self, word: &AtomicU32, value: u32, left: Option<&Timespec>) {
        let _ = futex::wait(word, futex::Flags::PRIVATE, value, left);
    }

    fn wait_shared(&self, _: u64, _: u32, _: Option<&Timespec>) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }

    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Option<&Timespec>) -> Result<usize, Errno> {
        rustix::event::poll(descriptors, timeout)
    }

    fn read(&self, fd: BorrowedFd<'_>, into: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(fd, into)
    }

    fn write(&self, fd: BorrowedFd<'_>, bytes: &[u8], _: &[i32]) -> Result<usize, Errno> {
        rustix::io::write(fd, bytes)
    }
}

/// Memory of a module, page by page.
pub struct Window {
    state: Mutex<State>,
}

struct State {
    bytes: Vec<u8>,
    pages: Vec<Option<Protection>>,
    brk: u64,
    /// Rights of copies that are being made.
    copies: BTreeMap<u64, Protection>,
    next_argument: u64,
    /// What the call in progress has read so far, if a test watches.
    fetched: Option<Vec<Range<u64>>>,
}

impl State {
    fn range(&self, at: u64, length: u64) -> Result<Range<usize>, Errno> {
        let start = at.checked_sub(BASE).ok_or(Errno::FAULT)?;
        let end = start.checked_add(length).filter(|end| *end <= SIZE).ok_or(Errno::FAULT)?;
        Ok(start as usize..end as usize)
    }

    fn allowed(&self, at: u64, length: u64, write: bool) -> Result<Range<usize>, Errno> {
        let range = self.range(at, length)?;
        let pages = range.start / PAGE as usize..range.end.div_ceil(PAGE as usize);
        let fits = |page: &Option<Protection>| match page {
            Some(Protection::ReadWrite) => true,
            Some(Protection::Read) => !write,
            _ => false,
        };
        if range.is_empty() || self.pages[pages].iter().all(fits) { Ok(range) } else { Err(Errno::FAULT) }
    }

    fn set(&mut self, at: u64, length: u64, protection: Option<Protection>) -> Result<(), Errno> {
        let range = self.range(at, length).map_err(|_| Errno::INVAL)?;
        self.pages[range.start / PAGE as usize..range.end / PAGE as usize].fill(protection);
        if protection.is_none() {
            self.bytes[range].fill(0);
        }
        Ok(())
    }
}

impl Memory for Window {
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        let mut state = self.state.lock().unwrap();
        let range = state.allowed(at, into.len() as u64, false)?;
        into.copy_from_slice(&state.bytes[range]);
        let now = at..at + into.len() as u64;
        if let Some(fetched) = &mut state.fetched {
            let twice = fetched.iter().find(|before| before.start < now.end && now.start < before.end);
            assert!(twice.is_none(), "double fetch: {now:x?} after {twice:x?}");
            fetched.push(now);
        }
        Ok(())
    }

    fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut state = self.state.lock().unwrap();
        let range = state.allowed(at, bytes.len() as u64, true)?;
        state.bytes[range].copy_from_slice(bytes);
        Ok(())
    }

    fn exchange(&self, how: Exchange, file: BorrowedFd<'_>, parts: &[(u64, u64)]) -> Result<u64, Errno> {
        use rustix::io::ReadWriteFlags;
        let mut state = self.state.lock().unwrap();
        let ranges: Vec<_> = {
            let is_written =
                !matches!(how, Exchange::Write | Exchange::WriteAt(_) | Exchange::WriteNow | Exchange::Send);
            parts
                .iter()
                .map(|(at, length)| state.allowed(*at, *length, is_written))
                .collect::<Result<_, _>>()?
        };
        let mut bytes: Vec<u8> =
            ranges.iter().flat_map(|range| state.bytes[range.clone()].to_vec()).collect();
        let (now, no_wait) = (u64::MAX, ReadWriteFlags::NOWAIT);
        let quiet = no_wait | lockgate_kernel::NO_SIGNAL;
        let done = match how {
            Exchange::Read => rustix::io::read(file, &mut bytes)?,
            Exchange::ReadAt(offset) => rustix::io::pread(file, &mut bytes, offset)?,
            Exchange::ReadNow => rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut bytes)], now, no_wait)?,
            Exchange::Write => rustix::io::write(file, &bytes)?,
            Exchange::WriteAt(offset) => rustix::io::pwrite(file, &bytes, offset)?,
            Exchange::WriteNow => rustix::io::pwritev2(file, &[IoSlice::new(&bytes)], now, quiet)?,
            Exchange::Receive => rustix::net::recv(file, &mut bytes, RecvFlags::DONTWAIT)?.0,
            Exchange::Send => rustix::net::send(file, &bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?,
            Exchange::Events(_) => return Err(Errno::NOSYS),
        };
        let mut rest = &bytes[..];
        for range in ranges {
            let (first, others) = rest.split_at(range.len());
            state.bytes[range].copy_from_slice(first);
            rest = others;
        }
        Ok(done as u64)
    }

    fn writable(&self, at: u64, length: u64) -> u64 {
        let state = self.state.lock().unwrap();
        let fits = |byte: &u64| state.allowed(at.wrapping_add(*byte), 1, true).is_ok();
        (0..length).take_while(fits).count() as u64
    }

    fn load_u32(&self, at: u64) -> Result<u32, Errno> {
        let state = self.state.lock().unwrap();
        let range = state.allowed(at, 4, false)?;
        Ok(u32::from_le_bytes(state.bytes[range].try_into().unwrap()))
    }

    fn wake_shared(&self, _: u64) {}

    fn brk(&self, to: u64) -> u64 {
        let mut state = self.state.lock().unwrap();
        if (BASE + HEAP..BASE + 2 * HEAP).contains(&to) {
            state.brk = to;
        }
        state.brk
    }

    fn map(&self, at: u64, length: u64, placement: Placement, rights: Protection) -> Result<u64, Errno> {
        let mut state = self.state.lock().unwrap();
        let count = (length / PAGE) as usize;
        let at = match placement {
            Placement::Anywhere => {
                let first = (2 * HEAP / PAGE) as usize;
                let gap =
                    state.pages[first..].windows(count).position(|pages| pages.iter().all(Option::is_none));
                BASE + (first + gap.ok_or(Errno::NOMEM)?) as u64 * PAGE
            }
            _ => at,
        };
        state.set(at, length, None)?;
        state.set(at, length, Some(rights))?;
        Ok(at)
    }

    fn map_shared(
        &self,
        at: u64,
        length: u64,
        placement: Placement,
        rights: Protection,
        (file, from): (BorrowedFd<'_>, u64),
    ) -> Result<u64, Errno> {
        // A plain buffer shares nothing: the contents are what they are at the moment.
        let at = self.map(at, length, placement, rights)?;
        let mut state = self.state.lock().unwrap();
        let range = state.range(at, length)?;
        rustix::io::pread(file, &mut state.bytes[range], from)?;
        Ok(at)
    }

    fn map_copy(&self, at: u64, length: u64, placement: Placement, rights: Protection) -> Result<u64, Errno> {
        let at = self.map(at, length, placement, Protection::ReadWrite)?;
        self.state.lock().unwrap().copies.insert(at, rights);
        Ok(at)
    }

    fn copied(&self, at: u64, length: u64) -> Result<(), Errno> {
        let mut state = self.state.lock().unwrap();
        let rights = state.copies.remove(&at).expect("a copy that was begun");
        state.set(at, length, Some(rights))
    }

    fn unmap(&self, at: u64, length: u64) -> Result<(), Errno> {
        self.state.lock().unwrap().set(at, length, None)
    }

    fn protect(&self, at: u64, length: u64, rights: Protection) -> Result<(), Errno> {
        self.state.lock().unwrap().set(at, length, Some(rights))
    }

    fn remap(&self, resize: Resize, _go_on: &mut dyn FnMut() -> bool) -> Result<u64, Errno> {
        if !resize.may_move && resize.new_length > resize.length {
            return Err(Errno::NOMEM);
        }
        Ok(resize.at)
    }

    fn discard(&self, at: u64, length: u64, _lazily: bool) -> Result<(), Errno> {
        let mut state = self.state.lock().unwrap();
        let range = state.range(at, length)?;
        state.bytes[range].fill(0);
        Ok(())
    }

    fn sync(&self, at: u64, length: u64, _wait: bool) -> Result<(), Errno> {
        let state = self.state.lock().unwrap();
        let range = state.range(at, length)?;
        let mut pages = state.pages[range.start / PAGE as usize..range.end / PAGE as usize].iter();
        if pages.all(Option::is_some) { Ok(()) } else { Err(Errno::NOMEM) }
    }

    fn usage(&self) -> (u64, u64) {
        (64 << 20, 1 << 20)
    }
}

/// A domain that makes system calls.
pub struct Guest {
    pub window: Window,
    pub process: Process,
    pub threads: NoThreads,
}

impl Guest {
    pub fn new(grants: Grants) -> Self {
        let mut pages = vec![None; (SIZE / PAGE) as usize];
        pages[(ARGUMENTS.start / PAGE) as usize..(ARGUMENTS.end / PAGE) as usize]
            .fill(Some(Protection::ReadWrite));
        let state = State {
            bytes: vec![0; SIZE as usize],
            pages,
            brk: BASE + HEAP,
            copies: BTreeMap::new(),
            next_argument: BASE + ARGUMENTS.start,
            fetched: None,
        };
        Guest {
            window: Window { state: Mutex::new(state) },
            process: Process::new(Arc::new(grants)),
            threads: NoThreads::default(),
        }
    }

    /// A domain with nothing granted.
    pub fn bare() -> Self {
        Guest::new(Grants::default())
    }

    /// A domain whose `/data` is `host`.
    pub fn with_data(host: &Path, access: Access) -> Self {
        Guest::new(Grants::default().directory("/data", host, access).unwrap())
    }

    /// Places `bytes` in the window; gives their address.
    pub fn put(&self, bytes: &[u8]) -> u64 {
        let at = self.room(bytes.len());
        self.window.write(at, bytes).unwrap();
        at
    }

    /// Room for a result of `length` bytes.
    pub fn room(&self, length: usize) -> u64 {
        let mut state = self.window.state.lock().unwrap();
        let at = state.next_argument;
        state.next_argument = (at + length as u64).next_multiple_of(16);
        assert!(state.next_argument <= BASE + ARGUMENTS.end, "a test's arguments fit their area");
        at
    }

    /// A zero-terminated string in the window.
    pub fn text(&self, text: &str) -> u64 {
        self.put(format!("{text}\0").as_bytes())
    }

    /// 64-bit words in the window.
    pub fn words(&self, words: &[u64]) -> u64 {
        self.put(&words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
    }

    /// `length` bytes of the window.
    pub fn get(&self, at: u64, length: usize) -> Vec<u8> {
        let state = self.window.state.lock().unwrap();
        let range = state.range(at, length as u64).unwrap();
        state.bytes[range].to_vec()
    }

    /// A 64-bit word of the window.
    pub fn word(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.get(at, 8).try_into().unwrap())
    }

    /// Makes a call that panics if it reads a byte of the window twice. Its arguments need pages of their
    /// own ([`on_own_page`](Guest::on_own_page)): a path is copied up to the end of its page.
    pub fn call_watched(&self, number: i64, arguments: &[u64]) -> Outcome {
        self.window.state.lock().unwrap().fetched = Some(Vec::new());
        let outcome = self.call(number, arguments);
        self.window.state.lock().unwrap().fetched = None;
        outcome
    }

    /// Places `bytes` at the start of a page that nothing else uses.
    pub fn on_own_page(&self, bytes: &[u8]) -> u64 {
        let at = self.put(&[]).next_multiple_of(PAGE);
        self.window.state.lock().unwrap().next_argument = at + PAGE;
        self.window.write(at, bytes).unwrap();
        at
    }

    /// Makes a call.
    pub fn call(&self, number: i64, arguments: &[u64]) -> Outcome {
        self.call_as(
            number,
            arguments,
            Thread { slot: 0, deadline: None, stopped: || false, detaches: false },
        )
    }

    /// Makes a call as some thread.
    pub fn call_as(&self, number: i64, arguments: &[u64], thread: Thread) -> Outcome {
        let mut six = [0; 6];
        six[..arguments.len()].copy_from_slice(arguments);
        let watched = self.window.state.lock().unwrap().fetched.clone();
        let mut ctx = SyscallContext {
            memory: &self.window,
            process: &self.process,
            thread,
            threads: &self.threads,
            sharing: &NothingShared,
            stack: &Deep,
            sleep: &Asleep,
        };
        lockgate_kernel::block_deadly();
        let number = number as u64;
        if lockgate_syscall::is_quick(number) {
            let done = quick(&ctx, number, six);
            if let Some(left) = done.left {
                self.process.reap(left);
            }
            match done.answer {
                Answer::Value(value) => return Outcome::Return(value),
                Answer::Again(left) => six = left,
                // It has done nothing, so that it reads what it reads for the first time.
                Answer::None => self.window.state.lock().unwrap().fetched = watched,
            }
        }
        dispatch(&mut ctx, number, six)
    }

    /// Makes a call with a deadline.
    pub fn call_until(&self, number: i64, arguments: &[u64], deadline: Instant) -> Outcome {
        self.call_as(
            number,
            arguments,
            Thread { slot: 0, deadline: Some(deadline), stopped: || false, detaches: false },
        )
    }

    /// Makes a call that must succeed.
    #[track_caller]
    pub fn ok(&self, number: i64, arguments: &[u64]) -> u64 {
        match self.call(number, arguments) {
            Outcome::Return(value) if !(-4095..0).contains(&value) => value as u64,
            other => panic!("system call {number}: {other:?}"),
        }
    }

    /// Makes a call that must fail with an error number.
    #[track_caller]
    pub fn err(&self, number: i64, arguments: &[u64]) -> Errno {
        match self.call(number, arguments) {
            Outcome::Return(value) if (-4095..0).contains(&value) => Errno::from_raw_os_error(-value as i32),
            other => panic!("system call {number} should fail: {other:?}"),
        }
    }

    /// `open(path, flags, 0666)`: the descriptor.
    #[track_caller]
    pub fn open(&self, path: &str, flags: i32) -> u64 {
        self.ok(libc::SYS_open, &[self.text(path), flags as u64, 0o666])
    }

    /// `open` that must fail.
    #[track_caller]
    pub fn open_err(&self, path: &str, flags: i32) -> Errno {
        self.err(libc::SYS_open, &[self.text(path), flags as u64, 0o666])
    }

    /// Reads up to `length` bytes of a descriptor.
    #[track_caller]
    pub fn read(&self, fd: u64, length: usize) -> Vec<u8> {
        let at = self.room(length);
        let got = self.ok(libc::SYS_read, &[fd, at, length as u64]);
        self.get(at, got as usize)
    }
}

/// Two million functions, each of a word.
struct Deep;

impl lockgate_syscall::ControlStack for Deep {
    fn alternate_changes(&self, _: Option<u64>) -> Result<(), Errno> {
        Ok(())
    }

    fn is_on_alternate(&self) -> bool {
        false
    }

    fn mask_changes(&self, _: u64) {}

    fn each_function(&self, see: &mut dyn FnMut(lockgate_syscall::InProgress) -> std::ops::ControlFlow<()>) {
        let _ = (0..2_000_000).try_for_each(|n| see(lockgate_syscall::InProgress { site: n, frame: 8 * n }));
    }
}

/// There are no threads but the host's, and none is started.
#[derive(Default)]
pub struct NoThreads {
    /// How often one has spoken of its wait.
    pub said: AtomicUsize,
    /// Whether all are said to wait.
    pub all_wait: AtomicBool,
}

/// A domain with which nothing is shared.
struct NothingShared;

impl lockgate_syscall::Sharing for NothingShared {
    fn pass_on(&self, import: &str, _: u64, _: u64, _: bool) -> Result<(), rustix::io::Errno> {
        Err(if import == "known" { rustix::io::Errno::FAULT } else { rustix::io::Errno::NOENT })
    }

    fn is_shared(&self, _: u64, _: u64, _: bool) -> Result<(), rustix::io::Errno> {
        Err(rustix::io::Errno::FAULT)
    }

    fn shared_word(&self, _: u64) -> Result<Option<u64>, rustix::io::Errno> {
        Ok(None)
    }

    fn wake_shared(&self, _: u64, _: usize) -> Result<usize, rustix::io::Errno> {
        Err(rustix::io::Errno::FAULT)
    }
}

impl lockgate_syscall::Threads for NoThreads {
    fn has(&self, _: u32) -> bool {
        false
    }

    fn waits(&self, begins: bool) {
        assert_eq!(begins, self.said.load(Ordering::SeqCst) == 0, "one wait");
        self.said.fetch_add(1, Ordering::SeqCst);
    }

    fn all_wait(&self) -> bool {
        self.all_wait.load(Ordering::SeqCst)
    }

    fn start(&self, _: lockgate_syscall::ThreadStart) -> Result<u64, rustix::io::Errno> {
        Err(rustix::io::Errno::AGAIN)
    }
}
