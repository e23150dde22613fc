//! What is to be done with an input, and what has been made of it.

/// What to do with an input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// Check the upper half of every address before its use and trap at the very instruction.
    pub strict_bounds: bool,
    /// No function of the input hands on what it was given in vectors or on the x87 stack, or what it was returned there, behind a
    /// system call of its own: then objects whose code names none of these registers keep none of them over system calls, as over
    /// calls of functions, and these take less time.
    pub system_calls_as_calls: bool,
    /// Names of archive members to leave out because something else takes their place: `member.o`, or `member.o:symbol` for
    /// those of this name that define the symbol.
    pub exclude: Vec<String>,
}

/// A rewritten object or archive.
#[derive(Debug, Clone)]
pub struct Rewritten {
    /// The file's contents.
    pub bytes: Vec<u8>,
    /// What was done.
    pub stats: Stats,
}

/// Counts of what the rewriter met and did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Objects rewritten.
    pub objects: u64,
    /// Archive members left out on request.
    pub excluded: u64,
    /// Instructions of the input.
    pub instructions: u64,
    /// Size of the input's code, bytes.
    pub text_in: u64,
    /// Size of the new code, bytes.
    pub text_out: u64,
    /// Entry labels added.
    pub labels: u64,
    /// Probes added because no access of the original served.
    pub probes: u64,
    /// Computed changes of rsp (unit U2).
    pub computed_rsp: u64,
    /// Checked indirect branches (unit U1).
    pub checked_branches: u64,
    /// Switches over bounded tables (unit U4).
    pub switches: u64,
    /// String instructions (unit U3).
    pub strings: u64,
    /// Computations of the thread pointer.
    pub thread_pointers: u64,
    /// Addresses checked in strict-bounds mode.
    pub pointer_checks: u64,
    /// Gathers and scatters whose addresses strict-bounds mode confines without checking them.
    pub unchecked_vectors: u64,
    /// Functions that no module can have, in whose place our own stand.
    pub replaced: Vec<String>,
    /// Objects whose debug information could not follow the code and was dropped: name and reason.
    pub debug_dropped: Vec<String>,
}

impl Stats {
    /// Adds the counts of another input.
    pub fn add(&mut self, other: &Stats) {
        self.objects += other.objects;
        self.excluded += other.excluded;
        self.instructions += other.instructions;
        self.text_in += other.text_in;
        self.text_out += other.text_out;
        self.labels += other.labels;
        self.probes += other.probes;
        self.computed_rsp += other.computed_rsp;
        self.checked_branches += other.checked_branches;
        self.switches += other.switches;
        self.strings += other.strings;
        self.thread_pointers += other.thread_pointers;
        self.pointer_checks += other.pointer_checks;
        self.unchecked_vectors += other.unchecked_vectors;
        self.replaced.extend_from_slice(&other.replaced);
        self.debug_dropped.extend_from_slice(&other.debug_dropped);
    }
}
