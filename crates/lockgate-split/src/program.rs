//! All sources together: which domains there are, and what calls what across their borders.

use crate::error::Refusal;
use crate::survey::Home;
use crate::unit::{Contents, Defined, Unit, Used, place};
use lockgate_stubs::annotation::{OPTIONS, check_option, check_options};
use lockgate_stubs::header::model::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// One domain of the program.
#[derive(Debug)]
pub struct Domain<'u> {
    /// Its name.
    pub name: String,
    /// What it may use and reach.
    pub options: Vec<String>,
    /// Functions that others call.
    pub entries: BTreeSet<String>,
    /// Functions of others that it calls, and who opened them to it.
    pub gates: BTreeMap<String, Opened<'u>>,
    /// Sources outside of it that call its entries.
    pub callers: Vec<&'u Unit>,
    /// Sources that define something of it.
    pub units: Vec<&'u Unit>,
    /// Its objects.
    pub objects: Vec<&'u [u8]>,
}

/// A function that others may call.
#[derive(Debug, Clone)]
pub struct Opened<'u> {
    /// Where that is said.
    pub place: Place,
    /// In which source.
    pub unit: &'u Unit,
}

/// Finds the domains of a program, or why it has none that work.
///
/// # Errors
/// Everything that is wrong with it.
pub fn domains<'u>(contents: &'u [Contents]) -> Result<Vec<Domain<'u>>, Vec<Refusal>> {
    let units: Vec<&Unit> = contents.iter().flat_map(|contents| &contents.units).collect();
    let mut program =
        Program { refusals: Vec::new(), defined: BTreeMap::new(), twice: BTreeSet::new(), units: &units };
    let mut names = BTreeSet::new();
    for name in contents.iter().flat_map(|contents| &contents.defined) {
        if !names.insert(name) {
            program.twice.insert(name);
        }
    }
    for unit in &units {
        for defined in &unit.definitions {
            program.defined.entry(&defined.name).or_insert((defined, unit));
        }
    }
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for home in units.iter().flat_map(|unit| &unit.parts) {
        if let Home::Domain(name) = home {
            names.insert(name);
        }
    }
    // Symbols, files and variables of the environment know no difference between these.
    let mut variables: BTreeMap<String, &str> = BTreeMap::new();
    for name in &names {
        if let Some(other) = variables.insert(lockgate_stubs::name::variable(name), name) {
            let said = units.iter().flat_map(|unit| &unit.domains).find(|domain| domain.name == **name);
            program.refusals.push(Refusal {
                place: said.map(|domain| place(&domain.place)).unwrap_or_default(),
                what: format!("domains {other} and {name} have names that differ in case, - and _ only"),
                remedy: "give one of them another name".into(),
            });
        }
    }
    let domains: Vec<Domain<'u>> = names.into_iter().map(|name| program.domain(name)).collect();
    for used in units.iter().flat_map(|unit| &unit.uses).filter(|used| used.by == Home::Host) {
        program.crosses(&Home::Host, None, used);
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

/// Options that give a domain something of the program's: its own sources cannot.
const RIGHTS: [&str; 2] = ["streams", "directory="];

fn is_one_of(options: &[&str], option: &str) -> bool {
    options
        .iter()
        .any(|known| if known.ends_with('=') { option.starts_with(known) } else { option == *known })
}

/// Whether the source has a part in the domain.
fn has_part(unit: &Unit, domain: &str) -> bool {
    unit.parts.iter().any(|part| matches!(part, Home::Domain(name) if name == domain))
}

/// Whether the source is the program's own: it has no part in any domain, or, besides, code of the program's. A source of one domain
/// says nothing for another.
fn is_program(unit: &Unit) -> bool {
    let confined = unit.parts.iter().any(|part| matches!(part, Home::Domain(_)));
    !confined || unit.definitions.iter().any(|d| d.function && d.home == Home::Host)
}

/// What each domain has, a line for each thing: how it is called, what it may call, and which code of its sources is in no domain.
pub fn listing(contents: &[Contents], domains: &[Domain<'_>]) -> String {
    let mut text = String::new();
    for domain in domains {
        let options =
            if domain.options.is_empty() { "no options".to_owned() } else { domain.options.join(", ") };
        let _ = writeln!(text, "domain {}: {options}", domain.name);
        for entry in &domain.entries {
            let _ = writeln!(text, "  entry {entry}");
        }
        for (gate, opened) in &domain.gates {
            let _ = writeln!(text, "  gate {gate}, opened at {}", opened.place);
        }
        let own =
            contents.iter().flat_map(|contents| &contents.units).filter(|unit| has_part(unit, &domain.name));
        let native = own
            .flat_map(|unit| &unit.definitions)
            .filter(|d| d.function && !matches!(d.home, Home::Domain(_)));
        for defined in native {
            let _ = writeln!(text, "  not confined: {}, defined at {}", defined.name, place(&defined.place));
        }
    }
    text
}

impl Domain<'_> {
    /// The options that decide what the types of its sources are: [`domains`] refuses sources that differ.
    pub fn types(&self) -> &[String] {
        self.units.first().map_or(&[], |unit| &unit.types)
    }
}

struct Program<'p, 'u> {
    refusals: Vec<Refusal>,
    /// What annotated sources define, by name.
    defined: BTreeMap<&'u str, (&'u Defined, &'u Unit)>,
    /// What several objects define, weakly all but one of them: which of them is called, the linker says.
    twice: BTreeSet<&'u str>,
    units: &'p [&'u Unit],
}

impl<'p, 'u> Program<'p, 'u> {
    fn domain(&mut self, name: &str) -> Domain<'u> {
        let units = self.units;
        let home = Home::Domain(name.to_owned());
        let mut domain = Domain {
            name: name.to_owned(),
            options: self.options(name),
            entries: BTreeSet::new(),
            gates: BTreeMap::new(),
            callers: Vec::new(),
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
            let defined = self.defined.values().find(|(d, _)| d.home == home);
            self.refusals.push(Refusal {
                place: defined.map(|(d, _)| place(&d.place)).unwrap_or_default(),
                what: format!("domain {name} has no LG_ENTRY: no other part could call it"),
                remedy: "mark the functions that the program calls with LG_ENTRY".into(),
            });
        }
        if let Some(other) = domain.units.iter().find(|unit| unit.types != domain.types()) {
            let of_domain =
                |unit: &Unit| unit.definitions.iter().find(|d| d.home == home).map(|d| place(&d.place));
            let with = |types: &[String]| {
                if types.is_empty() { "with none".into() } else { format!("with {}", types.join(" ")) }
            };
            self.refusals.push(Refusal {
                place: of_domain(other).unwrap_or_default(),
                what: format!(
                    "of the options that decide types, this source of domain {name} is compiled {}, and {} {}",
                    with(&other.types),
                    domain.units[0].source,
                    with(domain.types())
                ),
                remedy: "compile all sources of a domain alike".into(),
            });
        }
        for used in uses {
            if let Some(opened) = self.crosses(&home, Some(name), used) {
                domain.gates.insert(used.name.clone(), opened);
            }
        }
        let calls = |used: &Used| used.by != home && domain.entries.contains(&used.name);
        domain.callers = units.iter().copied().filter(|unit| unit.uses.iter().any(calls)).collect();
        domain
    }

    /// The options that the sources give the domain: all that give any give the same.
    fn options(&mut self, name: &str) -> Vec<String> {
        let units = self.units;
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
            let told = domain.options.iter().filter(|option| check_option(option).is_err());
            let told: Vec<_> =
                told.map(|option| format!("domain {name} has an unknown option: {option}")).collect();
            let twice = check_options(&domain.options).err().filter(|_| told.is_empty());
            for what in told.into_iter().chain(twice.map(|what| format!("domain {name}: {what}"))) {
                let remedy = format!("the options are {OPTIONS}");
                self.refusals.push(Refusal { place: place(&domain.place), what, remedy });
            }
        }
        // The author of a domain's sources does not give it rights: a source of the program's says so.
        for (domain, option) in
            first.iter().flat_map(|domain| domain.options.iter().map(move |o| (domain, o)))
        {
            let mut program = units.iter().filter(|unit| is_program(unit));
            if !is_one_of(&RIGHTS, option) || program.any(|unit| unit.consent.gives(name, option)) {
                continue;
            }
            self.refusals.push(Refusal {
                place: place(&domain.place),
                what: format!("only sources of domain {name} give it {option}: no other source of the program does"),
                remedy: "put this LG_DOMAIN, with its options, before a declaration of an entry in a source of the program's, \
                         too: headers give no rights"
                    .into(),
            });
        }
        first.map(|domain| domain.options.clone()).unwrap_or_default()
    }

    /// Where the function's owner says that others may call it: the source that defines it; for what no annotated source defines, as
    /// libc's functions, a source of the program's. What headers and the sources of the calling `domain` say is no consent. The
    /// program itself may call all entries.
    fn opened(&self, name: &str, domain: Option<&str>) -> Option<Opened<'u>> {
        let defined = self.defined.get(name).copied();
        let Some(domain) = domain else {
            let (defined, unit) = defined.filter(|(d, _)| d.entry)?;
            return Some(Opened { place: place(&defined.place), unit });
        };
        let opens = |unit: &'u Unit| unit.consent.opens(name).map(|place| Opened { place, unit });
        let owner = defined.filter(|(d, _)| d.entry && !self.twice.contains(name));
        let by_owner = owner.and_then(|(_, unit)| opens(unit));
        if by_owner.is_some() || defined.is_some_and(|(d, _)| d.home != Home::Host) {
            return by_owner;
        }
        let mut of_program =
            self.units.iter().copied().filter(|unit| !has_part(unit, domain) && is_program(unit));
        of_program.find_map(opens)
    }

    /// Where the use leads out of `home`, the place that opens the way. Refuses uses without one.
    fn crosses(&mut self, home: &Home, domain: Option<&str>, used: &Used) -> Option<Opened<'u>> {
        let defined = self.defined.get(used.name.as_str()).map(|(defined, _)| *defined);
        let its_home = defined.map_or(&Home::Host, |d| &d.home);
        if its_home == home || *its_home == Home::Everywhere {
            return None;
        }
        if used.function
            && let Some(opened) = self.opened(&used.name, domain)
        {
            return Some(opened);
        }
        let defined_at = defined.map_or(String::new(), |d| format!(", defined at {}", place(&d.place)));
        let name = &used.name;
        let (what, remedy) = if used.function {
            let remedy = match its_home {
                Home::Host if defined.is_none() => format!(
                    "if {home} may call it, declare it LG_ENTRY in a source of the program's that has no part in {home}, in its own text: \
                     headers open nothing"
                ),
                Home::Host => format!(
                    "if {home} may call it, write LG_ENTRY, without a macro, in the source that defines it: headers open nothing; or \
                     mark it LG_EVERYWHERE, if each part may have a copy"
                ),
                _ if defined.is_some_and(|d| d.entry) => {
                    format!(
                        "if {home} may call it, write LG_ENTRY in the source that defines it, too: headers open nothing"
                    )
                }
                _ => "mark it LG_ENTRY, or move the caller".to_owned(),
            };
            let mentioned = self.units.iter().find_map(|unit| unit.consent.mentions(name));
            let mentioned = mentioned.map_or(String::new(), |at| {
                format!(" ({at} cannot consent for the owner: docs/split.md, Consent)")
            });
            let what =
                format!("{home} calls {name}() of {its_home}, which is not LG_ENTRY{defined_at}{mentioned}");
            (what, remedy)
        } else {
            let what = format!("{home} uses variable {name} of {its_home}{defined_at}: they share no memory");
            (
                what,
                "pass it as a parameter, or mark it LG_EVERYWHERE, if each part may have a copy".to_owned(),
            )
        };
        self.refusals.push(Refusal { place: place(&used.place), what, remedy });
        None
    }

    /// An object without annotations that uses what is in a domain.
    fn foreign(&mut self, contents: &Contents) {
        for name in &contents.undefined {
            let Some((defined, _)) = self.defined.get(name.as_str()).copied() else { continue };
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
