//! The stub generator: an ordinary C header, with annotations in it or beside it, becomes a client library with the
//! same API whose functions run in a domain.
//!
//! [`header`] reads declarations with libclang, [`plan`] decides for each function how everything crosses the
//! boundary, or refuses it with a reason and a remedy, [`emit`] writes the client in C, C++, Rust or Python.
//! `docs/stubs.md` says what annotations mean.
pub mod annotation;
pub mod defined;
pub mod emit;
pub mod explain;
pub mod expression;
pub mod header;
mod libc;
pub mod name;
pub mod plan;
pub mod watch;

use std::path::{Path, PathBuf};

pub use lockgate_headers::ANNOTATIONS_H;

/// A client in the making: what was read, what is planned.
#[derive(Debug)]
pub struct Client {
    /// The plan, refusals included.
    pub plan: plan::Plan,
    /// Lines of annotations that it took.
    pub annotation_lines: usize,
    header: header::model::Header,
    target: emit::Target,
}

impl Client {
    /// Reads a header and plans its client, which will look for its module at `module`.
    ///
    /// # Errors
    /// [`header::ReadError`] if the header cannot be read. What cannot be done soundly is in
    /// [`Plan::refusals`](plan::Plan::refusals).
    pub fn of(source: &header::Source, module: &Path) -> Result<Client, header::ReadError> {
        let header = header::read(source)?;
        let name = source.name()?;
        let library = emit::library_name(header.library.as_ref().map(|(name, _)| name.as_str()), &name);
        name::check(&library).map_err(|why| {
            let remedy =
                format!("say LG_DOMAIN(\"name\"); in {} or a file of annotations", source.header.display());
            header::ReadError::Name { header: source.header.clone(), why: format!("{why}; {remedy}") }
        })?;
        let target = emit::Target {
            header: name,
            module: module.to_string_lossy().into_owned(),
            defines: source.defines.clone(),
            includes: source.folders()?,
            failing_stubs: false,
            knows_cpp: knows_cpp(&source.header),
        };
        let plan = plan::plan(&header);
        Ok(Client { plan, annotation_lines: header.annotation_lines, header, target })
    }

    /// Refuses what is another thing with the headers that modules are compiled with, which `system`, arguments for libclang, finds, than
    /// with the program's.
    ///
    /// # Errors
    /// [`header::ReadError`] if they cannot be read so: nothing has been compared then.
    pub fn hold_against(
        &mut self,
        source: &header::Source,
        system: &[String],
    ) -> Result<(), header::ReadError> {
        let inside = header::read_inside(source, system)?;
        self.plan.hold_against(&self.header, &inside);
        Ok(())
    }

    /// Leaves out what the library's objects do not define: headers declare what some builds do not have.
    pub fn keep_defined(&mut self, names: &std::collections::BTreeSet<String>) {
        self.plan.keep(names);
    }

    /// Functions without stubs get failing stubs: programs that mention them can be linked.
    pub fn failing_stub(&mut self) {
        self.target.failing_stubs = true;
    }

    /// What crosses, parameter by parameter, and how that was decided.
    pub fn explain(&self) -> String {
        explain::explain(&self.header, &self.plan)
    }

    /// The client in C.
    pub fn c(&self) -> Vec<emit::File> {
        emit::c::client(&self.plan, &self.target)
    }

    /// Bindings for Rust: a crate.
    ///
    /// # Errors
    /// Two things that would have one name.
    pub fn rust(&self) -> Result<Vec<emit::File>, String> {
        emit::rust::client(&self.plan, &self.target)
    }

    /// Bindings for C++: a header.
    ///
    /// # Errors
    /// A header that no program in C++ can include, or two things that would have one name.
    pub fn cpp(&self) -> Result<Vec<emit::File>, String> {
        emit::cpp::client(&self.plan, &self.target)
    }

    /// Bindings for Python: a module.
    ///
    /// # Errors
    /// Two things that would have one name.
    pub fn python(&self) -> Result<Vec<emit::File>, String> {
        emit::python::client(&self.plan, &self.target)
    }
}

/// Whether a header looks whether it is read as C++, and is not read as C then.
fn knows_cpp(header: &Path) -> bool {
    let text = lockgate_outside::read(header).unwrap_or_default();
    String::from_utf8_lossy(&text).contains("__cplusplus")
}

/// Words one of which every file of a client has in its first lines.
const MARKS: [&str; 4] = [
    "made by `lockgate stubs`",
    "made by Lockgate",
    "Written by `lockgate stubs`",
    "lockgate cc --exports FILE",
];

/// Whether the text is that of a client's file, or nothing.
fn is_ours(text: &[u8]) -> bool {
    let beginning = String::from_utf8_lossy(&text[..text.len().min(512)]);
    text.is_empty() || MARKS.iter().any(|mark| beginning.contains(mark))
}

/// Writes `files` into `folder`; folders are made if they are not there. What is there and was not written so stays, and then nothing is
/// written.
///
/// # Errors
/// The path that cannot be written, and why.
pub fn write(folder: &Path, files: &[emit::File]) -> Result<(), (PathBuf, std::io::Error)> {
    let mut texts = std::collections::BTreeMap::new();
    for emit::File { name, text } in files {
        let path = folder.join(name);
        let taken = |why: &str| (path.clone(), std::io::Error::new(std::io::ErrorKind::AlreadyExists, why));
        if texts.insert(name, text).is_some_and(|other| other != text) {
            return Err(taken(
                "two files of the client would have this name; LG_DOMAIN(\"name\"); gives the library another one",
            ));
        }
        match lockgate_outside::read(&path) {
            Ok(there) if !is_ours(&there) => {
                return Err(taken(
                    "it is there, and lockgate stubs did not write it; name another folder with -o",
                ));
            }
            Err(error) if path.symlink_metadata().is_ok() => return Err((path, error)),
            _ => {}
        }
    }
    std::fs::create_dir_all(folder).map_err(|error| (folder.to_owned(), error))?;
    for file in files {
        let path = folder.join(&file.name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(|error| (parent.to_owned(), error))?;
        std::fs::write(&path, &file.text).map_err(|error| (path, error))?;
    }
    Ok(())
}
