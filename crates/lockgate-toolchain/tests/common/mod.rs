//! A scratch folder with a compiler and a sysroot.
#![allow(dead_code, reason = "each test program uses a part")]

use lockgate_toolchain::{Error, Link, LinkOutcome, Sysroot, silent};
use lockgate_verify::Module;
use std::path::{Path, PathBuf};

/// Where one test compiles and links.
pub struct Workshop {
    pub folder: tempfile::TempDir,
    pub sysroot: Sysroot,
}

impl Workshop {
    pub fn new() -> Workshop {
        let sysroot = Sysroot::ensure(&silent).expect("the sysroot can be built");
        Workshop { folder: tempfile::tempdir().expect("a scratch folder"), sysroot }
    }

    pub fn output(&self) -> PathBuf {
        self.folder.path().join("module.lg")
    }

    pub fn link(&self) -> Link {
        Link::new(self.output())
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).expect("the scratch folder is writable");
        path
    }

    /// Compiles C source to `input.o`.
    pub fn compile(&self, source: &str) -> PathBuf {
        let source = self.write("input.c", source.as_bytes());
        self.gcc(&source, &["-O2"])
    }

    /// Assembles to `input.o`.
    pub fn assemble(&self, source: &str) -> PathBuf {
        let source = self.write("input.s", format!("{source}\n").as_bytes());
        self.gcc(&source, &[])
    }

    /// Compiles a file to an object beside it in the scratch folder.
    pub fn gcc(&self, source: &Path, flags: &[&str]) -> PathBuf {
        let stem = source.file_stem().expect("a file name").to_string_lossy();
        let object = self.folder.path().join(format!("{stem}.o"));
        let mut command = self.sysroot.tools().compiler();
        command.args(flags).arg("-c").arg(source).arg("-o").arg(&object);
        let output = command.output().expect("gcc runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        object
    }

    /// Compiles and links one C source.
    pub fn link_source(&self, source: &str, exports: &[&str]) -> Result<LinkOutcome, Error> {
        let mut link = self.link();
        link.file(&self.compile(source))?;
        for export in exports {
            link.export(export)?;
        }
        link.run(&self.sysroot, &silent)
    }

    /// The module that was linked, parsed.
    pub fn module(&self) -> Module {
        Module::parse(&std::fs::read(self.output()).expect("a module")).expect("a well-formed module")
    }
}
