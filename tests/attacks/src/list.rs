//! The folders of the suite, read and checked.
use crate::expect::Expect;
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What an attack's folder is made of.
#[derive(Debug, Clone)]
pub struct Attack {
    /// Folder above its own: what is attacked.
    pub area: String,
    /// Name of its folder.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Its `attack.toml`.
    pub description: Description,
    /// The hostile source; some scenarios need none.
    pub source: Option<Source>,
}

/// `attack.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Description {
    /// What it attempts, in one or two plain sentences.
    pub attempt: String,
    /// Rules of docs/rules.md that it would break, or promises of other pages (`docs/limits.md`).
    pub threatens: Vec<String>,
    /// Where the idea comes from.
    pub known_from: String,
    /// Name of the choreography in `src/scenarios`; none: the module is loaded and called once.
    pub scenario: Option<String>,
    /// What a processor must have for the attack to be one; without it the attack is left out.
    #[serde(default)]
    pub needs: Vec<Feature>,
    /// How the source is built.
    #[serde(default)]
    pub build: Build,
    /// How the module is called.
    #[serde(default)]
    pub call: Call,
    /// What must come of it.
    pub expect: Expect,
    /// Of a control only: what the runner must say of it, since it is not held.
    pub noticed: Option<String>,
}

/// `[build]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Build {
    /// Flags of gcc.
    pub flags: Vec<String>,
    /// Prototypes of functions that the module imports from the host.
    pub gates: Vec<String>,
}

/// `[call]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Call {
    /// The exported function; it takes words and returns one.
    pub function: String,
    /// At most six.
    pub arguments: Vec<Argument>,
    /// Milliseconds.
    pub time_limit: u64,
}

impl Default for Call {
    fn default() -> Call {
        Call { function: "attack".to_owned(), arguments: Vec::new(), time_limit: 10_000 }
    }
}

/// A word that the attack is given: a number, or something that a real attacker would have to guess.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Argument {
    /// Itself.
    Number(i64),
    /// An address.
    Aim(Aim),
}

/// What a processor may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// 32-byte vectors.
    Avx,
    /// Integers and gathers with them.
    Avx2,
    /// 64-byte vectors and masks.
    Avx512f,
}

impl Feature {
    /// Whether this processor has it.
    pub fn is_there(self) -> bool {
        match self {
            Feature::Avx => std::arch::is_x86_feature_detected!("avx"),
            Feature::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            Feature::Avx512f => std::arch::is_x86_feature_detected!("avx512f"),
        }
    }
}

/// Something to aim at.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aim {
    /// Memory of the host that holds its secret.
    Secret,
    /// The same 4 GiB of the host as the secret, with the lower half of the address of the attacker's own memory.
    Lucky,
    /// The same 4 GiB of the host as the secret, with the lower half of an address at which no module has anything.
    Unlucky,
    /// A function of the host.
    Code,
    /// Memory of another domain.
    Neighbour,
    /// Memory of the attacker, [`crate::world::OWN`] bytes of zeros.
    Own,
    /// The attacker's window.
    Window,
}

/// The hostile source, by the name of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Assembly that pretends to come from the rewriter.
    ModuleAssembly,
    /// C, through the whole toolchain.
    ModuleC,
    /// Assembly as a compiler would write it, for the rewriter.
    Object,
    /// A whole module file, byte by byte, for the loader.
    File,
    /// A whole object or archive, byte by byte, for the rewriter; it says that it defines `hostile`, which `attack` calls.
    Input,
}

impl Source {
    const ALL: [(Source, &str); 5] = [
        (Source::ModuleAssembly, "module.s"),
        (Source::ModuleC, "module.c"),
        (Source::Object, "object.s"),
        (Source::File, "file.s"),
        (Source::Input, "input.s"),
    ];

    /// Name of the file.
    pub fn file(self) -> &'static str {
        Source::ALL.iter().find(|(source, _)| *source == self).map_or("", |(_, name)| name)
    }
}

/// Folder of the attacks.
pub fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("suite")
}

/// Folder of the attacks that must be reported as not held, in a folder like an area's.
pub fn controls() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("controls")
}

/// All attacks below a folder of areas, by name.
///
/// # Errors
/// Names the folder that is not as README.md describes.
pub fn read(root: &Path) -> Result<Vec<Attack>> {
    let mut attacks = Vec::new();
    for area in folders(root)? {
        for folder in folders(&area)? {
            attacks.push(Attack::read(&folder).with_context(|| folder.display().to_string())?);
        }
    }
    Ok(attacks)
}

/// The folders in a folder, sorted; files beside them are includes of sources.
fn folders(root: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(root).with_context(|| root.display().to_string())?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut folders: Vec<_> = paths.into_iter().filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

impl Attack {
    /// Reads the attack in a folder.
    ///
    /// # Errors
    /// Says what is not as README.md describes.
    pub fn read(folder: &Path) -> Result<Attack> {
        let name = |path: Option<&Path>| {
            path.and_then(Path::file_name).map_or(String::new(), |name| name.to_string_lossy().into_owned())
        };
        let text = fs::read_to_string(folder.join("attack.toml")).context("attack.toml")?;
        let description: Description = toml::from_str(&text).context("attack.toml")?;
        let mut source = None;
        for entry in fs::read_dir(folder)? {
            let file = entry?.file_name();
            match Source::ALL.iter().find(|(_, name)| file == *name) {
                Some((kind, _)) => {
                    ensure!(source.replace(*kind).is_none(), "it has more than one source");
                }
                None if file == "attack.toml" => {}
                None => bail!("{} is neither attack.toml nor a source", file.display()),
            }
        }
        ensure!(source.is_some() || description.scenario.is_some(), "it has neither a source nor a scenario");
        Ok(Attack {
            area: name(folder.parent()),
            name: name(Some(folder)),
            folder: folder.to_owned(),
            description,
            source,
        })
    }

    /// What it needs and this processor lacks.
    pub fn lacks(&self) -> Option<Feature> {
        self.description.needs.iter().copied().find(|feature| !feature.is_there())
    }

    /// `area/name`.
    pub fn title(&self) -> String {
        format!("{}/{}", self.area, self.name)
    }
}
