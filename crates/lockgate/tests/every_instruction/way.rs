//! The way that calls take. To step each call from its beginning takes the square of its length: a call goes on at full speed to a place
//! that the one before has come to, close to the instruction that is wanted, and is stepped from there.
use super::tracer_sys::Tracee;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Where calls have been.
#[derive(Default)]
pub struct Way {
    /// The address after each instruction, from the mark on.
    places: Vec<u64>,
    /// Code of the process. Domains and their proxies come and go, but what is made anew in the same order mostly lies where the one before
    /// lay, and is the same.
    code: Vec<Code>,
    /// Places that a call has not come to, though another one had.
    passed_by: BTreeSet<u64>,
    calls: usize,
}

struct Code {
    range: Range<u64>,
    /// Of a program or a library, not of the runtime's making.
    stays: bool,
}

/// Every so manieth call is stepped from its beginning: its way is the one to know from then on.
const WHOLE: usize = 128;

impl Way {
    /// Of a process whose calls nobody has followed yet.
    pub fn of(process: u32) -> Way {
        Way { code: code(process), ..Way::default() }
    }

    /// Goes ahead of `steps` instructions as far as the way is known. How many instructions those are; nothing if the call has taken
    /// another way, and is over.
    pub fn ahead(&mut self, process: u32, thread: Tracee, steps: usize) -> Option<usize> {
        if self.code.is_empty() {
            self.code = code(process);
        }
        self.calls += 1;
        let Some((gone, times)) = self.landmark(steps).filter(|_| !self.calls.is_multiple_of(WHOLE)) else {
            self.places.clear();
            return Some(0);
        };
        let address = self.places[gone - 1];
        if !thread.go_to(address, times) {
            self.places.clear();
            self.passed_by.insert(address);
            return None;
        }
        self.places.truncate(gone);
        Some(gone)
    }

    /// The thread has done one more instruction, and stands here.
    pub fn note(&mut self, place: u64) {
        self.places.push(place);
    }

    /// Of the way that is known, the places that are wanted, each as often as it was come to, but `most` times at most.
    pub fn places(&self, is_wanted: impl Fn(u64) -> bool, most: usize) -> Vec<(u64, usize)> {
        let mut times = BTreeMap::new();
        let count = |&place: &u64| {
            let times = times.entry(place).or_insert(0_usize);
            *times += 1;
            (place, *times)
        };
        let wanted = self.places.iter().filter(|place| is_wanted(**place));
        wanted.map(count).filter(|(_, times)| *times <= most).collect()
    }

    /// Whether the address is the same place in each call, for sure.
    pub fn stays(&self, place: u64) -> bool {
        self.code.iter().any(|code| code.stays && code.range.contains(&place))
    }

    /// A known place before `steps` instructions are over, and for the how manieth time a call comes to it there: the one from which there
    /// are fewest stops, of a breakpoint on the way to it and of steps from it. Only places at which a breakpoint stops once each time count.
    /// (One that repeats itself is many steps, and one stop.)
    fn landmark(&self, steps: usize) -> Option<(usize, usize)> {
        let places = &self.places;
        let repeat: BTreeSet<u64> =
            places.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]).collect();
        let is_one = |place: &u64| {
            self.code.iter().any(|code| code.range.contains(place))
                && !repeat.contains(place)
                && !self.passed_by.contains(place)
        };
        let mut times = BTreeMap::new();
        let came = places.iter().take(steps.saturating_sub(1)).map(|place| {
            let times = times.entry(place).or_insert(0_usize);
            *times += 1;
            (place, *times)
        });
        let usable = came.enumerate().filter(|(_, (place, _))| is_one(place));
        let counted = usable.map(|(n, (_, times))| (n + 1, times));
        counted.min_by_key(|(gone, times)| steps - gone + times)
    }
}

/// Where a program begins in the memory of a process.
pub fn base(process: &str, program: &str) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).expect("a process");
    let first = maps.lines().find(|line| line.ends_with(program)).expect("the program's own code");
    u64::from_str_radix(first.split('-').next().expect("an address"), 16).expect("an address")
}

/// The code of the files that the process has mapped, in memory or not.
fn code(process: u32) -> Vec<Code> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).expect("the victim lives");
    let parse = |line: &str| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let is_code = words.next()?.contains('x');
        let path = words.nth(3)?;
        let hex = |text| u64::from_str_radix(text, 16).ok();
        let code = Code { range: hex(start)?..hex(end)?, stays: !path.starts_with("/memfd:") };
        (is_code && path.starts_with('/')).then_some(code)
    };
    maps.lines().filter_map(parse).collect()
}
