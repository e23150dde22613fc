//! What this process holds of the system, whatever the allocator keeps.

use lockgate_postgres::Held;

/// Has all threads of this process allocate from one arena. With glibc's default of eight for each processor, a few objects that live on in each
/// hold pages of all of them, and how many is chance: that would hide what grows because it is held.
pub fn allocate_in_one_arena() {
    // SAFETY: a setting of the allocator's, which takes its own lock.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// What this process holds now, without memory that the allocator only keeps for later.
pub fn now() -> anyhow::Result<Held> {
    // SAFETY: takes the allocator's own locks, and touches free memory only.
    unsafe { libc::malloc_trim(0) };
    Held::of("self", "VmRSS", |_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_shows() {
        let before = now().unwrap();
        // Many, because other tests open and close some meanwhile.
        let files: Vec<_> = (0..200).map(|_| std::fs::File::open("/proc/self/exe").unwrap()).collect();
        let memory = std::hint::black_box(vec![1_u8; 64 << 20]);
        let growth = now().unwrap().since(before);
        assert!(growth.descriptors >= 100 && growth.resident_kib >= 60 << 10, "{growth:?}");
        assert_eq!(before.since(before).resident_kib, 0);
        drop((files, memory));
    }
}
