//! Which callbacks the program's own data goes to: those that stand beside it.
use super::{No, Outcome, Passing, Plan, no};

/// Most callbacks of a call that one pointer comes with (`LGS_SHARERS` of the runtime).
const SHARERS: usize = 8;

impl Plan {
    /// Of parameters or fields in their order: each place of data, with those of the callbacks that get it. One pointer is for all of them; of
    /// several, each is for those directly before it, or each for those directly behind it.
    pub fn pairs<'p>(&self, all: impl Iterator<Item = &'p Passing>) -> Option<Vec<(usize, Vec<usize>)>> {
        let all: Vec<&Passing> = all.collect();
        let places = |wanted: &dyn Fn(&Passing) -> bool| -> Vec<usize> {
            all.iter().enumerate().filter(|(_, passing)| wanted(passing)).map(|(place, _)| place).collect()
        };
        let takes = |passing: &Passing| match passing {
            Passing::Callback { name } => {
                self.callbacks.get(name).is_some_and(|plan| plan.parameters.contains(&Outcome::Data))
            }
            _ => false,
        };
        let data = places(&|passing| matches!(passing, Passing::Data { .. }));
        let mut callbacks = places(&takes);
        if callbacks.is_empty() {
            callbacks = places(&|passing| matches!(passing, Passing::Callback { .. }));
        }
        let of = |place: usize, from: Option<usize>, to: Option<usize>| {
            let between = |c: &usize| from.is_none_or(|from| *c > from) && to.is_none_or(|to| *c < to);
            (place, callbacks.iter().copied().filter(between).collect::<Vec<usize>>())
        };
        let before = |n: usize| n.checked_sub(1).map(|n| data[n]);
        let pairs: Vec<(usize, Vec<usize>)> = match (data.as_slice(), callbacks.as_slice()) {
            ([_] | [], _) | (_, []) => data.iter().map(|place| of(*place, None, None)).collect(),
            ([.., last], [first, .., end] | [first @ end]) => {
                let leads = data[0] < *first;
                if leads == (end < last) {
                    return None;
                }
                let each = data.iter().enumerate();
                match leads {
                    true => each.map(|(n, at)| of(*at, Some(*at), data.get(n + 1).copied())).collect(),
                    false => each.map(|(n, at)| of(*at, before(n), Some(*at))).collect(),
                }
            }
        };
        let sound =
            pairs.iter().all(|(_, of)| (callbacks.is_empty() || !of.is_empty()) && of.len() <= SHARERS);
        sound.then_some(pairs)
    }

    /// A refusal where data and callbacks do not stand in pairs.
    pub(super) fn is_paired<'p>(&self, all: impl Iterator<Item = &'p Passing>) -> Result<(), No> {
        match self.pairs(all) {
            Some(_) => Ok(()),
            None => no(
                "which of its callbacks gets which of the program's data (LG_DATA) is not said by their order",
                "leave it out with LG_OMIT, or declare one that has each data directly behind its callback, or each directly before",
            ),
        }
    }
}
