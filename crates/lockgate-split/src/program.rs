//! All sources together: which domains there are, and what calls what across their borders.

use crate::error::Refusal;
use crate::survey::Home;
use crate::unit::{Contents, Defined, Unit, Used, place};
use std::collections::{BTreeMap, BTreeSet};

/// One domain of the program.
#[derive(Debug)]
pub struct Domain<'u> {
    /// Its name.
    pub name: String,
    /// What it may use and reach.
    pub options: Vec<String>,
    /// Functions that others call.
    pub entries: BTreeSet<String>,
    /// Functions of others that it calls.
    pub gates: BTreeSet<String>,
    /// Sources that define something of it.
    pub units: Vec<&'u Unit>,
    /// Its objects.
    pub objects: Vec<&'u [u8]>,
}

/// Finds the domains of a program, or why it has none that work.
///
/// # Errors
/// Everything that is wrong with it.
pub fn domains<'u>(contents: &'u [Contents]) -> Result<Vec<Domain<'u>>, Vec<Refusal>> {
    let units: Vec<&Unit> = contents.iter().flat_map(|contents| &contents.units).collect();
    let mut program = Program { refusals: Vec::new(), defined: BTreeMap::new(), entries: BTreeSet::new() };
    for unit in &units {
        program.entries.extend(unit.entries.iter().map(String::as_str));
        program.entries.extend(unit.definitions.iter().filter(|d| d.entry).map(|d| d.name.as_str()));
        for defined in &unit.definitions {
            program.defined.entry(&defined.name).or_insert(defined);
        }
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for home in units.iter().flat_map(|unit| &unit.parts) {
        if let Home::Domain(name) = home {
            names.insert(name);
        }
    }
    let domains: Vec<Domain<'u>> = names.into_iter().map(|name| program.domain(name, &units)).collect();
    for used in units.iter().flat_map(|unit| &unit.uses).filter(|used| used.by == Home::Host) {
        program.crosses(&Home::Host, used);
    }
    // Sources without any annotations: only their objects say what they use.
    for contents in contents.iter().filter(|contents| contents.units.is_empty()) {
        program.foreign(contents);
    }
    if program.refusals.is_empty() {
        return Ok(domains);
    }
    program.refusals.dedup();
    Err(program.refusals)
}

/// What stubs know to do for a domain (`runtime/host.h`); those with `=` have a value.
const OPTIONS: [&str; 6] = ["streams", "restart", "memory=", "stack=", "time=", "directory="];

fn is_option(option: &str) -> bool {
    OPTIONS
        .iter()
        .any(|known| if known.ends_with('=') { option.starts_with(known) } else { option == *known })
}

struct Program<'u> {
    refusals: Vec<Refusal>,
    /// What annotated sources define, by name.
    defined: BTreeMap<&'u str, &'u Defined>,
    /// Functions that some source knows as `LG_ENTRY`.
    entries: BTreeSet<&'u str>,
}

impl<'u> Program<'u> {
    fn domain(&mut self, name: &str, units: &[&'u Unit]) -> Domain<'u> {
        let home = Home::Domain(name.to_owned());
        let mut domain = Domain {
            name: name.to_owned(),
            options: self.options(name, units),
            entries: BTreeSet::new(),
            gates: BTreeSet::new(),
            units: Vec::new(),
            objects: Vec::new(),
        };
        let mut everywhere = Vec::new();
        let mut uses: Vec<&Used> = Vec::new();
        for unit in units {
            let own = unit.parts.iter().position(|part| *part == home);
            let copied = unit.parts.iter().position(|part| *part == Home::Everywhere);
            if let Some(number) = own {
                domain.units.push(unit);
                domain.objects.push(&unit.objects[number]);
            } else if let Some(number) = copied {
                everywhere.push(&*unit.objects[number]);
            }
            let part = if own.is_some() { &home } else { &Home::Everywhere };
            uses.extend(unit.uses.iter().filter(|used| used.by == *part));
            let entries = unit.definitions.iter().filter(|d| d.home == home && d.entry);
            domain.entries.extend(entries.map(|d| d.name.clone()));
        }
        domain.objects.append(&mut everywhere);
        if domain.entries.is_empty() {
            let defined = self.defined.values().find(|d| d.home == home);
            self.refusals.push(Refusal {
                place: defined.map(|d| place(&d.place)).unwrap_or_default(),
                what: format!("nothing of domain {name} is LG_ENTRY: nobody could call it"),
                remedy: "mark the functions that the program calls with LG_ENTRY".into(),
            });
        }
        for used in uses {
            if self.crosses(&home, used) {
                domain.gates.insert(used.name.clone());
            }
        }
        domain
    }

    /// The options that the sources give the domain: all that give any give the same.
    fn options(&mut self, name: &str, units: &[&'u Unit]) -> Vec<String> {
        let said =
            units.iter().flat_map(|unit| &unit.domains).filter(|d| d.name == name && !d.options.is_empty());
        let mut first: Option<&crate::survey::Domain> = None;
        for domain in said {
            match first {
                Some(known) if known.options != domain.options => self.refusals.push(Refusal {
                    place: place(&domain.place),
                    what: format!(
                        "domain {name} has the options {} here, and {} at {}",
                        domain.options.join(", "),
                        known.options.join(", "),
                        place(&known.place)
                    ),
                    remedy: "give them once: LG_DOMAIN with the name alone means the same domain".into(),
                }),
                Some(_) => {}
                None => first = Some(domain),
            }
        }
        if let Some(domain) = first {
            for option in domain.options.iter().filter(|option| !is_option(option)) {
                self.refusals.push(Refusal {
                    place: place(&domain.place),
                    what: format!("domain {name} has an option that there is not: {option}"),
                    remedy: format!("the options are {}", OPTIONS.join(", ")),
                });
            }
        }
        first.map(|domain| domain.options.clone()).unwrap_or_default()
    }

    /// Whether the use leads out of `home`, by a way that exists. Refuses others.
    fn crosses(&mut self, home: &Home, used: &Used) -> bool {
        let defined = self.defined.get(used.name.as_str()).copied();
        let its_home = defined.map_or(&Home::Host, |d| &d.home);
        if its_home == home || *its_home == Home::Everywhere {
            return false;
        }
        if used.function && self.entries.contains(used.name.as_str()) {
            return true;
        }
        let defined_at = defined.map_or(String::new(), |d| format!(", defined at {}", place(&d.place)));
        let name = &used.name;
        let (what, remedy) = if used.function {
            let remedy = match its_home {
                Home::Host => format!(
                    "declare it LG_ENTRY in a header that both sides include, if {home} may call it, or mark it LG_EVERYWHERE, if \
                     each part may have a copy"
                ),
                _ => "mark it LG_ENTRY, or move the caller".to_owned(),
            };
            (format!("{home} calls {name}() of {its_home}, which is not LG_ENTRY{defined_at}"), remedy)
        } else {
            let what = format!("{home} uses variable {name} of {its_home}{defined_at}: they share no memory");
            (
                what,
                "pass it as a parameter, or mark it LG_EVERYWHERE, if each part may have a copy".to_owned(),
            )
        };
        self.refusals.push(Refusal { place: place(&used.place), what, remedy });
        false
    }

    /// An object without annotations that uses what is in a domain.
    fn foreign(&mut self, contents: &Contents) {
        for name in &contents.undefined {
            let Some(defined) = self.defined.get(name.as_str()).copied() else { continue };
            if defined.entry || !matches!(defined.home, Home::Domain(_)) {
                continue;
            }
            self.refusals.push(Refusal {
                place: place(&defined.place),
                what: format!("{} uses {name} of {}, which is not LG_ENTRY", contents.name, defined.home),
                remedy: "mark it LG_ENTRY if it is a function that the host may call".into(),
            });
        }
    }
}
