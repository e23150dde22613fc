//! The caller's part of the work in memory that a domain shares.

use lockgate::Region;

/// Fills the first `size` bytes of `region` with `value`, in place.
///
/// # Panics
/// If the region is shorter, or the host may not write to it.
pub fn fill(region: &Region, size: usize, value: u8) {
    assert!(size as u64 <= region.length() && region.rights() == lockgate::Rights::ReadWrite);
    // SAFETY: inside the region, which the host has mapped for writing as long as the handle lives; no reference points there, and the
    // domain that shares it does not run meanwhile.
    unsafe { region.host_address().write_bytes(value, size) };
}
