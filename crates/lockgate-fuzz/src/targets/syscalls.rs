//! Emulated system calls, made by a domain with any arguments at all: no memory of the host, no file or address beyond the grants, no more
//! memory or descriptors than the limits, and nothing left over.

use crate::Target;
use crate::module_file::ModuleFile;
use crate::traces::{has, has_run};
use arbitrary::{Result, Unstructured};
use lockgate::syscall::{Access, Grants, TABLE};
use lockgate::{Domain, DomainOptions, Function, Module, Pointer};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// See [`check`].
pub const TARGET: Target = Target {
    name: "syscalls",
    run: |input| {
        thread_local!(static WORLD: RefCell<World> = RefCell::new(World::new("granted")));
        WORLD.with_borrow_mut(|world| check(input, world))
    },
    longest: 512,
    memory: 16 << 20,
    near: 2000,
    tokens: &[],
};

/// What is in files that the domain must not read.
const SECRET: [u8; 16] = *b"<not for guests>";
/// What memory of the host is full of.
const OURS: u8 = 0x5a;
const MEMORY_LIMIT: u64 = 16 << 20;
/// Calls of one input, at most.
const CALLS: usize = 24;
/// Bytes that arguments may point to.
const SCRATCH: usize = 1024;
const PAGE: u64 = 4096;
/// Not in these calls: they would fill the machine's disk, which is the host's to bound (docs/limits.md).
const FALLOCATE: u64 = 285;

/// A function that makes the system call whose number and arguments its own argument points to.
const SYSTEM_CALL: [u8; 51] = [
    0xf3, 0x0f, 0x1e, 0xfa, // endbr64
    0x65, 0x67, 0x48, 0x8b, 0x07, // mov %gs:(%edi),%rax
    0x65, 0x67, 0x48, 0x8b, 0x77, 0x10, // mov %gs:16(%edi),%rsi
    0x65, 0x67, 0x48, 0x8b, 0x57, 0x18, // mov %gs:24(%edi),%rdx
    0x65, 0x67, 0x4c, 0x8b, 0x57, 0x20, // mov %gs:32(%edi),%r10
    0x65, 0x67, 0x4c, 0x8b, 0x4f, 0x30, // mov %gs:48(%edi),%r9
    0x65, 0x67, 0x48, 0x8b, 0x7f, 0x08, // mov %gs:8(%edi),%rdi
    0x65, 0xff, 0x14, 0x25, 0x00, 0x10, 0x01, 0x00, // call *%gs:gate 0
    0xc3, // ret
    0x0f, 0x0b, 0xcc, // ud2
];

/// Where paths begin, beneath what the domain is granted.
const PATHS: [&str; 24] = [
    "/data",
    "/data/f",
    "/data/sub/g",
    "/data/../secret",
    "/data/link",
    "/data/absolute",
    "/data/new",
    "../secret",
    "/etc/passwd",
    "/proc/self/mem",
    "",
    ".",
    "sub/../../secret",
    "/data/f/",
    "/ro/r",
    "/ro/new",
    "/data/secret",
    "/data/sub/up/secret",
    "loop",
    "/data//sub/./g",
    "/special/p",
    "/special/new",
    "/special/sub/l",
    "/special/sub",
];

/// A domain and the host around it.
pub struct World {
    folder: tempfile::TempDir,
    domain: Option<Domain>,
    /// Files of the host, as they have to stay.
    outside: Vec<Entry>,
    granted: Vec<Entry>,
    /// Open descriptors of this process, as many as there have to be afterwards.
    descriptors: usize,
    /// Memory of the host.
    canary: Box<[u8; 4096]>,
    /// Whom the domain may not reach.
    strangers: (TcpListener, UdpSocket, UnixListener),
    /// Structures of addresses, theirs among them.
    addresses: Vec<Vec<u8>>,
}

/// A file: path, type and rights, size, contents.
type Entry = (PathBuf, u32, u64, Vec<u8>);

impl World {
    /// A world whose domain has the folder `granted` of the host as `/data`: that of the same name, if nothing is sabotaged.
    ///
    /// # Panics
    /// There is no room for it.
    #[must_use]
    pub fn new(granted: &str) -> World {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        fs::write(root.join("secret"), SECRET).expect("a file");
        fs::create_dir(root.join("ro")).expect("a folder");
        let strangers = strangers(root);
        let addresses = addresses(root, &strangers);
        fs::write(root.join("ro/r"), "read me").expect("a file");
        furnish(root);
        let module =
            ModuleFile { code: SYSTEM_CALL.to_vec(), room: 4 * PAGE, ..ModuleFile::default() }.build();
        let grants = Grants::default()
            .directory("/data", root.join(granted), Access::ReadWrite)
            .and_then(|grants| grants.directory("/special", root.join("granted/special"), Access::Special))
            .and_then(|grants| grants.directory("/ro", root.join("ro"), Access::ReadOnly))
            .and_then(|grants| grants.listen("127.0.0.1:0"))
            .and_then(|grants| grants.listen("unix:*"))
            .and_then(|grants| grants.connect("unix:*"))
            .and_then(|grants| grants.connect("udp:127.0.0.2:9"))
            .expect("folders and addresses that can be granted");
        const LIMIT: Duration = Duration::from_millis(3);
        let options =
            DomainOptions::new().name("guest").grants(grants).memory_limit(MEMORY_LIMIT).time_limit(LIMIT);
        let domain = Domain::new(&Module::from_bytes(&module).expect("a module"), options).expect("a domain");
        let mut world = World {
            outside: vec![],
            granted: vec![],
            descriptors: 0,
            canary: Box::new([OURS; 4096]),
            strangers,
            addresses,
            folder,
            domain: Some(domain),
        };
        // What the library makes once, at the first call and the first reset.
        let _ = run(&[0; 64], &mut world);
        (world.outside, world.granted) = world.files();
        world.descriptors = descriptors();
        world
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Files of the host, those beyond the grants and those in the granted folder.
    fn files(&self) -> (Vec<Entry>, Vec<Entry>) {
        let granted = self.root().join("granted");
        entries(self.root()).into_iter().partition(|(path, ..)| !path.starts_with(&granted))
    }
}

fn strangers(root: &Path) -> (TcpListener, UdpSocket, UnixListener) {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("this machine");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("this machine");
    let unix = UnixListener::bind(root.join("hidden")).expect("a socket");
    let waits = tcp.set_nonblocking(true).and(udp.set_nonblocking(true)).and(unix.set_nonblocking(true));
    waits.expect("a socket need not wait");
    (tcp, udp, unix)
}

/// Bytes that an address has room for.
const ADDRESS: usize = 128;

/// The strangers by all their names, and what is granted.
fn addresses(root: &Path, (tcp, udp, _): &(TcpListener, UdpSocket, UnixListener)) -> Vec<Vec<u8>> {
    let port = tcp.local_addr().expect("it is bound").port();
    let other = udp.local_addr().expect("it is bound").port();
    let hidden = root.join("hidden");
    let inet = [
        format!("127.0.0.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("127.0.0.1:{other}"),
        "127.0.0.1:0".to_owned(),
        "127.0.0.2:9".to_owned(),
    ];
    let unix = [OsStr::new("/data/s"), hidden.as_os_str(), OsStr::new("/data/../hidden")];
    let mut all: Vec<Vec<u8>> = inet
        .iter()
        .map(|text| match text.parse().expect("an address") {
            SocketAddr::V4(address) => {
                let start = [2, 0, (address.port() >> 8) as u8, address.port() as u8];
                [&start[..], &address.ip().octets(), &[0; 8]].concat()
            }
            SocketAddr::V6(address) => {
                let start = [10, 0, (address.port() >> 8) as u8, address.port() as u8, 0, 0, 0, 0];
                [&start[..], &address.ip().octets(), &[0; 4]].concat()
            }
        })
        .collect();
    all.extend(unix.iter().map(|path| [&[1, 0], path.as_bytes(), &[0]].concat()));
    for address in &mut all {
        address.resize(ADDRESS, 0);
    }
    all
}

/// The granted folder's contents.
fn furnish(root: &Path) {
    let granted = root.join("granted");
    fs::create_dir_all(granted.join("sub")).expect("a folder");
    fs::create_dir_all(granted.join("special/sub")).expect("a folder");
    fs::write(granted.join("special/sub/f"), "f").expect("a file");
    fs::set_permissions(&granted, Permissions::from_mode(0o755)).expect("a folder of ours");
    fs::write(granted.join("f"), [b'f'; 100]).expect("a file");
    fs::write(granted.join("sub/g"), "g").expect("a file");
    symlink("../secret", granted.join("link")).expect("a link");
    symlink(root.join("secret"), granted.join("absolute")).expect("a link");
    symlink("../..", granted.join("sub/up")).expect("a link");
    symlink("loop", granted.join("loop")).expect("a link");
}

/// Where links lead that the domain has not made.
const LINKS: [&str; 3] = ["../secret", "../..", "loop"];

/// Removes what is in a folder, not the folder: that is what the domain was granted.
fn empty(folder: &Path) -> std::io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if fs::symlink_metadata(&path)?.is_dir() {
            empty(&path)?;
            // (It is granted itself.)
            if !path.ends_with("granted/special") {
                fs::remove_dir(&path)?;
            }
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn entries(folder: &Path) -> Vec<Entry> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(about) = fs::symlink_metadata(entry.path()) else { continue };
            if about.is_dir() {
                folders.push(entry.path());
            }
            let small = about.is_file() && about.len() <= PAGE;
            let contents = if small { fs::read(entry.path()).unwrap_or_default() } else { vec![] };
            let size = if about.is_dir() { 0 } else { about.len() };
            found.push((entry.path(), about.mode(), size, contents));
        }
    }
    found.sort();
    found
}

/// A number of calls, and what their arguments point to. Returns the number of calls.
///
/// # Panics
/// The domain reached something that it must not.
pub fn check(input: &[u8], world: &mut World) -> u64 {
    let calls = run(input, world);
    assert!(*world.canary == [OURS; 4096], "memory of the host was written");
    assert_eq!(descriptors(), world.descriptors, "descriptors are left");
    let (tcp, udp, unix) = &world.strangers;
    let reached = tcp.accept().is_ok() || udp.recv(&mut [0]).is_ok() || unix.accept().is_ok();
    assert!(!reached, "an address beyond the grants was reached");
    let (outside, granted) = world.files();
    assert_eq!(outside, world.outside, "files beyond the grants have changed");
    for (path, mode, ..) in granted.iter().filter(|entry| !world.granted.contains(entry)) {
        let inside = path.strip_prefix(world.root().join("granted/special")).is_ok();
        let is_new = !world.granted.iter().any(|(known, ..)| known == path);
        match mode & 0o170_000 {
            0o120_000 => {
                let target = fs::read_link(path).unwrap_or_default();
                let climbs =
                    target.is_absolute() || target.components().any(|part| part == Component::ParentDir);
                // (Those that were there may be moved, but not to where links are made.)
                let is_ours =
                    LINKS.iter().any(|link| Path::new(link) == target) || target.starts_with(world.root());
                assert!(!is_new || is_ours && !inside || inside && !climbs, "a link leads out: {path:?}");
            }
            0o010_000 => assert!(inside, "a FIFO where none may be: {path:?}"),
            _ => {}
        }
    }
    if granted != world.granted {
        empty(&world.root().join("granted")).expect("a folder of ours");
        furnish(world.root());
        assert_eq!(world.files().1, world.granted, "the folder is as it was");
    }
    calls
}

/// The calls, and a reset.
fn run(input: &[u8], world: &mut World) -> u64 {
    let mut domain = world.domain.take().expect("between executions");
    let mut calls = 0;
    let _ = make_calls(&mut Unstructured::new(input), &domain, world, &mut calls);
    let usage = domain.usage();
    assert!(usage.memory <= MEMORY_LIMIT && usage.descriptors <= 256, "{usage:?}");
    domain.reset().expect("no thread is inside");
    world.domain = Some(domain);
    calls
}

fn make_calls(input: &mut Unstructured<'_>, domain: &Domain, world: &World, calls: &mut u64) -> Result<()> {
    // Arguments lie behind the module's own data: number and six words, words that point to each other, paths.
    let at = domain.base() + lockgate_abi::window::IMAGE + 3 * PAGE;
    let scratch = at + 64;
    let mut memory = vec![0; SCRATCH];
    // As vectors and structures: addresses and lengths in turn.
    for (number, word) in memory.chunks_exact_mut(8).enumerate() {
        let value = if number % 2 == 0 { scratch + 512 } else { 16 };
        word.copy_from_slice(&value.to_le_bytes());
    }
    let given = usize::from(input.arbitrary::<u8>()?) % 64;
    let given = input.bytes(given.min(input.len()))?;
    memory[..given.len()].copy_from_slice(given);
    domain.write_slice(Pointer::<u8>::from_address(scratch), &memory).expect("the module's own memory");
    let paths = scratch + SCRATCH as u64;
    for (number, path) in PATHS.iter().enumerate() {
        let text = [path.as_bytes(), &[0]].concat();
        domain
            .write_slice(Pointer::<u8>::from_address(paths + 32 * number as u64), &text)
            .expect("the module's own memory");
    }
    let addresses = paths + 32 * PATHS.len() as u64;
    for (number, address) in world.addresses.iter().enumerate() {
        let place = Pointer::<u8>::from_address(addresses + (ADDRESS * number) as u64);
        domain.write_slice(place, address).expect("the module's own memory");
    }
    let call: Function<extern "C" fn(u64) -> i64> = domain.bind("f").expect("the module exports it");
    let mut last = 0;
    for _ in 0..CALLS {
        if input.is_empty() {
            break;
        }
        let entry = input.arbitrary::<u8>()?;
        let number = TABLE.get(usize::from(entry)).map_or(u64::from(entry) * 7, |entry| entry.number);
        let mut words = [number; 7];
        for word in &mut words[1..] {
            *word = argument(input, domain, world, (scratch, paths, last))?;
        }
        if number == FALLOCATE {
            words[3] &= 0xffff;
            words[4] &= 0xffff;
        }
        domain.write_slice(Pointer::<u64>::from_address(at), &words).expect("the module's own memory");
        *calls += 1;
        last = call.call(at).unwrap_or(-1) as u64;
        let mut memory = vec![0; SCRATCH];
        // It may have made its memory inaccessible.
        if domain.read_into(Pointer::from_address(scratch), &mut memory).is_ok() {
            assert!(!has(&memory, &SECRET), "{words:x?} brought the secret in");
            assert!(
                !has_run(&memory, OURS, 32) || given.contains(&OURS),
                "{words:x?} brought memory of the host in"
            );
        }
    }
    Ok(())
}

fn argument(
    input: &mut Unstructured<'_>,
    domain: &Domain,
    world: &World,
    (scratch, paths, last): (u64, u64, u64),
) -> Result<u64> {
    let wild = [
        0,
        1,
        domain.base(),
        domain.base() - 8,
        domain.base() + (1 << 32) - 4,
        domain.base() + (1 << 32) + (1 << 30),
        domain.base() + 0x1_1000,
        domain.base() + 0x2_0000,
        world.canary.as_ptr() as u64,
        1 << 47,
        1 << 63,
        u64::MAX,
        u64::MAX - 4095,
    ];
    Ok(match input.arbitrary::<u8>()? {
        kind @ 0..=63 => u64::from(kind % 16),
        kind @ 64..=103 => paths + 32 * u64::from((kind - 64) % PATHS.len() as u8),
        104..=159 => scratch + u64::from(input.arbitrary::<u16>()?) % SCRATCH as u64,
        kind @ 160..=185 => wild[usize::from(kind - 160) % wild.len()],
        186..=209 => input.arbitrary::<u32>()?.into(),
        210..=225 => input.arbitrary::<u64>()?,
        226..=231 => 1 << (input.arbitrary::<u8>()? % 64),
        kind @ 232..=240 => {
            let number = u64::from(kind - 232) % world.addresses.len() as u64;
            paths + 32 * PATHS.len() as u64 + ADDRESS as u64 * number
        }
        // AT_FDCWD
        241..=247 => -100_i64 as u64,
        _ => last,
    })
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").expect("/proc is mounted").count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::controls::notices;

    /// The domain gets the folder above its own.
    #[test]
    fn a_grant_that_is_too_large_is_noticed() {
        let world = RefCell::new(World::new("."));
        notices(&TARGET, |input| {
            let mut world = world.borrow_mut();
            if world.domain.is_none() {
                *world = World::new(".");
            }
            check(input, &mut world)
        });
    }
}
