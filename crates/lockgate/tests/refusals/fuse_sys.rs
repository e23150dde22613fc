//! A file system that refuses: one file, `f`, served by a process of the tests' own through `/dev/fuse` (linux/fuse.h, protocol 7.31).
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

/// Length of the file in bytes.
pub const LENGTH: u64 = 4 << 20;

// Operations.
pub const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
pub const GETATTR: u32 = 3;
pub const SETATTR: u32 = 4;
pub const OPEN: u32 = 14;
pub const READ: u32 = 15;
pub const WRITE: u32 = 16;
pub const STATFS: u32 = 17;
pub const RELEASE: u32 = 18;
pub const FLUSH: u32 = 25;
const INIT: u32 = 26;
pub const ACCESS: u32 = 34;
const BATCH_FORGET: u32 = 42;

/// Mounts the file system; whoever has the descriptor serves it.
///
/// # Errors
/// Where one may not: no rights, no `/dev/fuse`.
pub fn mount(folder: &Path) -> std::io::Result<File> {
    let device = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
    let options = format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
    let [kind, folder, options] = ["fuse.test", folder.to_str().expect("a plain path"), &options]
        .map(|text| CString::new(text).expect("no zero byte"));
    // SAFETY: four strings that end.
    let done = unsafe {
        libc::mount(kind.as_ptr(), folder.as_ptr(), kind.as_ptr(), libc::MS_NOSUID, options.as_ptr().cast())
    };
    if done == 0 { Ok(device) } else { Err(std::io::Error::last_os_error()) }
}

/// Unmounts it, whoever still uses it.
pub fn unmount(folder: &Path) {
    let folder = CString::new(folder.to_str().expect("a plain path")).expect("no zero byte");
    // SAFETY: a string that ends.
    unsafe { libc::umount2(folder.as_ptr(), libc::MNT_DETACH) };
}

/// Serves until it is unmounted. One operation fails; files are opened with `direct_io`, if that is asked for: then none can be mapped shared.
pub fn serve(mut device: File, refused: u32, direct: bool) {
    let mut request = vec![0; 1 << 20];
    while let Ok(length) = device.read(&mut request) {
        let word = |at: usize| u64::from_le_bytes(request[at..at + 8].try_into().expect("eight bytes"));
        let (operation, unique, node) = ((word(0) >> 32) as u32, word(8), word(16));
        let body = &request[40..length];
        let reply = if operation == refused { Err(libc::EIO) } else { answer(operation, node, body, direct) };
        if matches!(operation, FORGET | BATCH_FORGET) {
            continue;
        }
        let (error, data) = match reply {
            Ok(data) => (0, data),
            Err(error) => (-error, Vec::new()),
        };
        let mut out = ((16 + data.len()) as u32).to_le_bytes().to_vec();
        out.extend(error.to_le_bytes());
        out.extend(unique.to_le_bytes());
        out.extend(data);
        if device.write_all(&out).is_err() {
            return;
        }
    }
}

fn answer(operation: u32, node: u64, body: &[u8], direct: bool) -> Result<Vec<u8>, i32> {
    let word =
        |at: usize| body.get(at..at + 4).map_or(0, |b| u32::from_le_bytes(b.try_into().expect("four")));
    let mut data = Vec::new();
    let mut put = |words: &[u64]| words.iter().for_each(|word| data.extend(word.to_le_bytes()));
    match operation {
        INIT => put(&[7 | 31 << 32, 65536, 0, 65536 << 32, 0, 0, 0, 0]),
        LOOKUP if body == b"f\0" => {
            put(&[2, 0, 100, 100, 0]);
            attributes(2, &mut put);
        }
        LOOKUP => return Err(libc::ENOENT),
        GETATTR | SETATTR => {
            put(&[100, 0]);
            attributes(node, &mut put);
        }
        OPEN => put(&[1, u64::from(direct)]),
        READ => data = vec![7; word(16) as usize],
        WRITE => put(&[u64::from(word(16))]),
        STATFS => put(&[0, 0, 0, 0, 0, 4096 | 255 << 32, 0, 0, 0, 0]),
        RELEASE | FLUSH | ACCESS => {}
        _ => return Err(libc::ENOSYS),
    }
    Ok(data)
}

/// `struct fuse_attr`.
fn attributes(node: u64, put: &mut impl FnMut(&[u64])) {
    let (length, mode) = if node == 1 { (0, libc::S_IFDIR | 0o777) } else { (LENGTH, libc::S_IFREG | 0o666) };
    // Ten halves of words after the times: three times, mode, links, user, group, device, block size, flags.
    put(&[node, length, length / 512, 0, 0, 0]);
    put(&[0, u64::from(mode) << 32, 1, 0, 4096]);
}
