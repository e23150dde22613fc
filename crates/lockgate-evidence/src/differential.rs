//! Differential decoding: whatever the verifier's decoder accepts, other decoders must read in the same way.

use crate::archives;
use crate::decoders::{Decoder, Iced, View, Yaxpeax, Zydis, mnemonic};
use crate::difference::{Aspect, differences};
use crate::encodings::{Encoding, slices};
use crate::explained::Explanation;
use crate::random::Random;
use anyhow::Result;
use lockgate_verify::Reading;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

/// How much to do.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Of the enumerated encodings, one in so many.
    pub one_in: u64,
    /// Of the bytes of archives, one in so many.
    pub code_one_in: u64,
    /// Random and mutated encodings, each.
    pub random: u64,
    /// For random numbers, and for which ones are taken.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Default, Serialize)]
pub struct Outcome {
    /// By source of encodings.
    pub sources: Vec<Source>,
    /// Encodings decoded by the verifier.
    pub encodings: u64,
    /// Of these, accepted by it, and so by all other decoders but for what is explained.
    pub accepted: u64,
    /// Accepted, with something explained.
    pub explained: u64,
    /// What `explained.txt` explains and did not occur: decoder, aspect and mnemonic.
    pub unused: Vec<String>,
    /// Contradictions that nothing explains.
    pub disagreements: u64,
    /// One example of each kind, with their number: by decoder, aspect and mnemonic.
    pub kinds: BTreeMap<String, (u64, String)>,
}

/// One source of encodings.
#[derive(Debug, Serialize)]
pub struct Source {
    /// Its name.
    pub name: String,
    /// All encodings that it has.
    pub size: u64,
    /// Those that were tried.
    pub tried: u64,
    /// Those that the verifier accepted.
    pub accepted: u64,
}

/// Runs everything.
///
/// # Errors
/// The archives cannot be read.
pub fn run(effort: Effort) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let explained = |known: Explanation| {
        known.mnemonics.iter().map(|name| kind(known.decoder, known.aspect, name)).collect::<Vec<_>>()
    };
    outcome.unused = Explanation::all().into_iter().flat_map(explained).collect();
    for slice in slices() {
        outcome.try_all(slice.name.to_owned(), slice.len(), effort.one_in, effort.seed, |index| {
            slice.get(index)
        });
    }
    let (archives, code) = archives::code()?;
    let window = |at: u64| -> Encoding { std::array::from_fn(|i| code[at as usize + i]) };
    let size = code.len() as u64 - 16;
    outcome.try_all(
        format!("{archives} archives of the distribution, at every byte"),
        size,
        effort.code_one_in,
        effort.seed,
        window,
    );
    outcome.try_all("the same behind 65 67".into(), size, effort.code_one_in, effort.seed, |at| {
        behind_window(window(at))
    });
    // Each index has a mutation of its own.
    outcome.try_all("the same, mutated".into(), effort.random, 1, effort.seed, |index| {
        let mut random = Random::new(effort.seed ^ index << 20);
        mutated(window(random.below(size)), &mut random)
    });
    outcome.try_all("random bytes".into(), effort.random, 1, effort.seed, |index| {
        let mut random = Random::new(effort.seed ^ index);
        let bytes = random.bytes();
        *random.of(&[bytes, behind_window(bytes)])
    });
    Ok(outcome)
}

/// A kind of contradiction, in words.
fn kind(decoder: &str, aspect: Aspect, mnemonic: &str) -> String {
    format!("{decoder} {aspect:?} {mnemonic}")
}

fn behind_window(bytes: Encoding) -> Encoding {
    (u128::from_le_bytes(bytes) << 16 | 0x6765).to_le_bytes()
}

/// One to three bits of the first eight bytes flipped, perhaps behind 65 67.
fn mutated(bytes: Encoding, random: &mut Random) -> Encoding {
    let mut bytes = if random.one_in(2) { behind_window(bytes) } else { bytes };
    for _ in 0..=random.below(3) {
        let bit = random.below(64);
        bytes[bit as usize / 8] ^= 1 << (bit % 8);
    }
    bytes
}

impl Outcome {
    /// Tries one in `one_in` of a source's encodings, on all processors.
    fn try_all(
        &mut self,
        name: String,
        size: u64,
        one_in: u64,
        seed: u64,
        encoding: impl Fn(u64) -> Encoding + Sync,
    ) {
        const CHUNK: u64 = 1 << 14;
        let next = AtomicU64::new(0);
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let totals = std::thread::scope(|scope| {
            let work = || {
                let mut judge = Judge::default();
                loop {
                    let start = next.fetch_add(CHUNK, Ordering::Relaxed);
                    for step in start..start + CHUNK {
                        // A random member of each run of `one_in`.
                        let skip = if one_in == 1 { 0 } else { Random::new(seed ^ step).below(one_in) };
                        let index = step * one_in + skip;
                        if step * one_in >= size {
                            return judge;
                        }
                        if index < size {
                            judge.judge(&encoding(index));
                        }
                    }
                }
            };
            let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
            handles.into_iter().map(|handle| handle.join().expect("no decoder panics")).collect::<Vec<_>>()
        });
        let sum = |field: fn(&Judge) -> u64| totals.iter().map(field).sum::<u64>();
        let (tried, accepted) = (sum(|judge| judge.tried), sum(|judge| judge.accepted));
        self.encodings += tried;
        self.accepted += accepted;
        self.explained += sum(|judge| judge.explained);
        self.disagreements += sum(|judge| judge.disagreements);
        self.unused.retain(|kind| !totals.iter().any(|judge| judge.used.contains(kind)));
        for (kind, (number, example)) in totals.into_iter().flat_map(|judge| judge.kinds) {
            self.kinds.entry(kind).or_insert((0, example)).0 += number;
        }
        self.sources.push(Source { name, size, tried, accepted });
    }
}

/// One worker's decoders and counts.
struct Judge {
    zydis: Zydis,
    yaxpeax: Yaxpeax,
    iced: Iced,
    explanations: Vec<Explanation>,
    /// What they were needed for.
    used: BTreeSet<String>,
    tried: u64,
    accepted: u64,
    explained: u64,
    disagreements: u64,
    kinds: BTreeMap<String, (u64, String)>,
}

impl Default for Judge {
    fn default() -> Self {
        Judge {
            zydis: Zydis::default(),
            yaxpeax: Yaxpeax::default(),
            iced: Iced::default(),
            explanations: Explanation::all(),
            used: BTreeSet::new(),
            tried: 0,
            accepted: 0,
            explained: 0,
            disagreements: 0,
            kinds: BTreeMap::new(),
        }
    }
}

/// Number of the other decoders.
const DECODERS: usize = 3;

impl Judge {
    fn judge(&mut self, bytes: &Encoding) {
        self.tried += 1;
        let Some(ours) = Reading::of(bytes) else { return };
        self.accepted += 1;
        let views: [(&str, Option<View>); DECODERS] = [
            (Zydis::NAME, self.zydis.view(bytes)),
            (Yaxpeax::NAME, self.yaxpeax.view(bytes)),
            (Iced::NAME, self.iced.view(bytes)),
        ];
        let differences = views.each_ref().map(|(_, view)| differences(&ours, view.as_ref()));
        if differences.iter().all(Vec::is_empty) {
            return;
        }
        let name = mnemonic(bytes);
        let is_explained = |decoder: &str, aspect: &Aspect| {
            self.explanations
                .iter()
                .any(|known| known.decoder == decoder && known.aspect == *aspect && known.covers(&name))
        };
        let contradicted = |aspect| {
            differences
                .iter()
                .filter(|found| found.contains(&aspect) || found.contains(&Aspect::Unknown))
                .count()
        };
        let unexplained: Vec<_> = views
            .iter()
            .zip(&differences)
            .flat_map(|((decoder, view), found)| found.iter().map(move |aspect| (decoder, view, aspect)))
            .filter(|(decoder, _, aspect)| {
                !is_explained(decoder, aspect) || contradicted(**aspect) == DECODERS
            })
            .collect();
        if unexplained.is_empty() {
            self.explained += 1;
            for ((decoder, _), found) in views.iter().zip(&differences) {
                self.used.extend(found.iter().map(|aspect| kind(decoder, *aspect, &name)));
            }
            return;
        }
        self.disagreements += 1;
        for (decoder, view, aspect) in unexplained {
            let example = || {
                let hex: String = bytes[..ours.len].iter().map(|byte| format!("{byte:02x}")).collect();
                format!("{hex}: {ours:?}, {view:?}")
            };
            self.kinds.entry(kind(decoder, *aspect, &name)).or_insert_with(|| (0, example())).0 += 1;
        }
    }
}
