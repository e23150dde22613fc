//! The caller's part of the work in memory that a domain shares.

use lockgate::Region;

/// Fills `size` bytes of `region` from byte `at` on with `value`, in place.
///
/// # Panics
/// If the region is shorter, or the host may not write to it.
pub fn fill(region: &Region, at: u64, size: usize, value: u8) {
    let end = at.checked_add(size as u64);
    assert!(end.is_some_and(|end| end <= region.length()) && region.rights() == lockgate::Rights::ReadWrite);
    // SAFETY: inside the region, which the host has mapped for writing as long as the handle lives; no reference points there, and the
    // domain that shares it does not run meanwhile.
    unsafe { region.host_address().add(at as usize).write_bytes(value, size) };
}
