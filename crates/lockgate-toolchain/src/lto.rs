//! Link-time optimisation: gcc's intermediate code becomes one ordinary object before anything is rewritten.
//! The compiler obeys that code, so this is for inputs that the caller trusts (`-flto`).

use crate::input::{Input, Kind};
use crate::{Error, process, tools::Tools};
use std::path::Path;

/// Compiles the inputs that hold intermediate code together. `roots` are symbols that archives among them must
/// provide; `options` are the compiler's (`-O2`, `-march=…`).
pub(crate) fn compile<'a>(
    tools: &Tools,
    folder: &Path,
    inputs: &[&Input],
    roots: impl Iterator<Item = &'a str>,
    options: &[String],
) -> Result<Input, Error> {
    let object = folder.join("lto.o");
    let mut command = tools.gcc();
    command.args(["-r", "-nostdlib", "-fPIE", "-flto", "-flinker-output=nolto-rel"]).args(options);
    // gcc would put its process number into the names of symbols.
    command.arg("-frandom-seed=lockgate");
    process::arguments_in_file(&mut command, folder, roots.map(|root| format!("-Wl,--undefined={root}")))?;
    for (i, input) in inputs.iter().enumerate() {
        let extension = match input.kind {
            Kind::Archive => "a",
            Kind::Object => "o",
        };
        let path = folder.join(format!("lto-{i}.{extension}"));
        std::fs::write(&path, &input.bytes).map_err(Error::io("write", &path))?;
        command.arg(path);
    }
    process::run(command.arg("-o").arg(&object))?;
    Input::read_as(&object, "(link-time optimisation)".to_owned())
}
