//! Which callbacks the program's own data goes to: those that stand beside it; and which functions give it back.
use super::{FunctionPlan, LeftOut, No, Outcome, Passing, Plan, Planner, Refusal, no};

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
            Passing::Callback { name } => self.callbacks.get(name).is_some_and(|plan| plan.takes_data()),
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

impl Planner<'_> {
    /// Functions that give data back give what the program gave to the functions that `LG_GIVEN` names, and nothing else: what kind of thing that is only it knows.
    /// Without it that is what their own parameters give, or what the only function gives that is given any. All others are refused.
    pub(super) fn who_gave(&mut self) {
        let gives = |plan: &Plan, function: &FunctionPlan| {
            let data = |passing: &Passing| matches!(passing, Passing::Data { .. });
            function.parameters.iter().any(|passing| match passing {
                Passing::Record { key, .. } => plan
                    .records
                    .get(key)
                    .is_some_and(|record| record.fields.iter().any(|field| data(&field.passing))),
                other => data(other),
            })
        };
        let givers: Vec<String> =
            self.plan.functions.iter().filter(|f| gives(&self.plan, f)).map(|f| f.name.clone()).collect();
        let mut refused = Vec::new();
        for function in &mut self.plan.functions {
            let Outcome::Data { by } = &mut function.result else { continue };
            let unknown = by.iter().find(|name| !givers.contains(name)).cloned();
            if let Some(unknown) = unknown {
                let left_out = self.plan.left_out.iter().any(|left| left.name == unknown);
                by.retain(|name| givers.contains(name));
                if !left_out || by.is_empty() {
                    let reason = format!("LG_GIVEN: the program gives no data (LG_DATA) to {unknown}()");
                    refused.push((function.name.clone(), reason, "name functions to which it does"));
                }
            } else if by.is_empty() {
                *by = match givers.as_slice() {
                    all if all.contains(&function.name) => vec![function.name.clone()],
                    [] | [_] => givers.clone(),
                    [one, other, ..] => {
                        let reason = format!(
                            "which of the program's data it gives back is not said: what {one}() got, or {other}(), …"
                        );
                        refused.push((
                            function.name.clone(),
                            reason,
                            "add LG_GIVEN(f, …) with the functions that it was given to",
                        ));
                        continue;
                    }
                };
            }
        }
        for (name, reason, remedy) in refused {
            self.refuse_after_all(&name, "result", reason, remedy);
        }
    }

    /// A structure of the library's with functions and data in it would have it say which function is called with which data, though it was given both for other
    /// handles. (Where the program's own comes back, both stay as they are.)
    pub(super) fn no_pairs_come_out(&mut self) {
        let plan = &self.plan;
        let pairs = |key: &String| {
            let fields = plan.records.get(key).into_iter().flat_map(|record| &record.fields);
            let outcomes: Vec<&Outcome> = fields.map(|field| &field.outcome).collect();
            let data = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Data { .. }));
            data && outcomes.iter().any(|outcome| matches!(outcome, Outcome::Callback { .. }))
        };
        let shows = |outcome: &Outcome| match outcome {
            Outcome::Record { key, .. } => pairs(key).then(|| key.clone()),
            _ => None,
        };
        let called =
            |name: &String| plan.callbacks.get(name).and_then(|plan| plan.parameters.iter().find_map(shows));
        let passed = |passing: &Passing| match passing {
            Passing::Record { key, buffer, .. } if buffer.writes && !buffer.reads && pairs(key) => {
                Some(key.clone())
            }
            Passing::Record { key, .. } => {
                let fields = plan.records.get(key).into_iter().flat_map(|record| &record.fields);
                fields.into_iter().find_map(|field| match &field.passing {
                    Passing::Callback { name } => called(name),
                    _ => None,
                })
            }
            Passing::Callback { name } => called(name),
            Passing::Pointer { after, .. } => shows(after),
            _ => None,
        };
        let mut refused = Vec::new();
        for function in &plan.functions {
            let key = shows(&function.result).or_else(|| function.parameters.iter().find_map(passed));
            refused.extend(key.map(|key| (function.name.clone(), key)));
        }
        for (name, key) in refused {
            let reason = format!(
                "the library gives `{key}`, with functions of the program's and data for them in it: which belong together it could say as it likes"
            );
            let remedy = "annotate the functions or the data in it with LG_IGNORE (LG_FIELD), or leave the function out with LG_OMIT";
            self.refuse_after_all(&name, "its structures", reason, remedy);
        }
    }

    /// A function that has been planned is refused for what others do.
    pub(super) fn refuse_after_all(&mut self, name: &str, what: &str, reason: String, remedy: &str) {
        let header = self.header;
        let Some(declared) = header.functions.named(name) else { return };
        self.plan.functions.retain(|function| function.name != *name);
        let error = self.error(declared);
        self.plan.left_out.push(LeftOut {
            name: name.to_owned(),
            prototype: declared.prototype.clone(),
            reason: reason.clone(),
            error,
        });
        self.plan.refusals.push(Refusal {
            place: declared.place.clone(),
            function: name.to_owned(),
            declaration: format!("{name}: {what}"),
            reason,
            remedy: remedy.to_owned(),
        });
    }
}
