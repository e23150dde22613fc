//! The runtime's thunks in every window: the only code there that is not the module's.
//!
//! They are the same bytes in all windows of the process and are part of each module's memory file, in front of
//! the code. They jump through the thread's block, so that reading them shows only an offset from `fs`
//! (rule R24).
use super::block_sys;
use super::layout::ThreadBlock;
use lockgate_abi::gate::{CALLBACK_THUNKS, CALLBACKS, RESUME, SLOTS, SYSCALL, SYSCALL_AS_CALL, THUNK_SIZE};
use lockgate_abi::{code, window};
use std::mem::offset_of;

/// Offset from the thunks' start of the jump that callback thunks share.
const CALLBACK_JUMP: u64 = CALLBACK_THUNKS + CALLBACKS * THUNK_SIZE;

/// The bytes from [`window::THUNKS`] to [`window::IMAGE`].
pub(crate) fn page() -> Vec<u8> {
    let block = block_sys::block_offset();
    let mut bytes = vec![0xcc; (window::IMAGE - window::THUNKS) as usize];
    let mut put = |at: u64, code: &[u8]| bytes[at as usize..at as usize + code.len()].copy_from_slice(code);
    for slot in 0..SLOTS {
        let jump = |entry: usize| jump_through_block(block + entry as i32);
        let thunk = match slot {
            // (r11 is lost over a system call.)
            SYSCALL | SYSCALL_AS_CALL => {
                [&load_number(slot)[..], &jump(offset_of!(ThreadBlock, gate_syscall))].concat()
            }
            // r10 and r11 are the module's.
            RESUME => jump(offset_of!(ThreadBlock, gate_resume)).to_vec(),
            _ => [&load_number(slot)[..], &jump(offset_of!(ThreadBlock, gate_import))].concat(),
        };
        put(slot * THUNK_SIZE, &thunk);
    }
    for number in 0..CALLBACKS {
        let at = CALLBACK_THUNKS + number * THUNK_SIZE;
        let mut thunk = code::LABEL.to_vec();
        thunk.extend(load_number(number));
        let next = at + thunk.len() as u64 + 5;
        thunk.push(0xe9); // jmp rel32
        thunk.extend(((CALLBACK_JUMP - next) as u32).to_le_bytes());
        put(at, &thunk);
    }
    put(CALLBACK_JUMP, &jump_through_block(block + offset_of!(ThreadBlock, gate_callback) as i32));
    bytes
}

/// Window offset of gate slot `slot`'s thunk.
pub(crate) fn gate_thunk(slot: u64) -> u64 {
    window::THUNKS + slot * THUNK_SIZE
}

/// Window offset of callback `number`'s thunk.
pub(crate) fn callback_thunk(number: u64) -> u64 {
    window::THUNKS + CALLBACK_THUNKS + number * THUNK_SIZE
}

/// `mov $number,%r11d`
fn load_number(number: u64) -> [u8; 6] {
    let [a, b, c, d] = (number as u32).to_le_bytes();
    [0x41, 0xbb, a, b, c, d]
}

/// `jmp *%fs:offset`
fn jump_through_block(offset: i32) -> [u8; 8] {
    let [a, b, c, d] = offset.to_le_bytes();
    [0x64, 0xff, 0x24, 0x25, a, b, c, d]
}

const _: () = assert!(CALLBACK_JUMP + 8 <= window::IMAGE - window::THUNKS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_only_at_callback_stubs() {
        let bytes = page();
        let found: Vec<_> =
            bytes.windows(4).enumerate().filter(|(_, w)| *w == code::LABEL).map(|(i, _)| i as u64).collect();
        let expected: Vec<_> = (0..CALLBACKS).map(|i| CALLBACK_THUNKS + i * THUNK_SIZE).collect();
        assert_eq!(found, expected);
    }
}
