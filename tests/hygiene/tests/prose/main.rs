//! The form of the documents: what is short stays short, lines fit, words are those of the glossary, and numbers are those of the code.

mod numbers;

use hygiene::{read, root};
use std::path::PathBuf;

/// Words that have a standard term, or that hide who acts.
const WORDS: &[(&str, &str)] = &[
    ("anybody", "the actor's name"),
    ("bury", "reclaim"),
    ("condemned", "retired"),
    ("dearer", "costs more"),
    ("everybody", "the actor's name"),
    ("fails never", "never fails"),
    ("interpreter's lock", "GIL"),
    ("listen at", "listen on"),
    ("listens at", "listens on"),
    ("mended", "fixed"),
    ("nobody", "the actor's name"),
    ("nudge", "kick"),
    ("patience", "timeout"),
    ("processor time", "CPU time"),
    ("slow way", "slow path"),
    ("somebody", "the actor's name"),
    ("time-out", "timeout"),
    ("whoever", "the actor's name"),
];

/// Words that names of the code may not have either: pages cite names.
const NOT_IN_NAMES: [&str; 11] = [
    "anybody",
    "everybody",
    "mend",
    "mended",
    "mends",
    "nobody",
    "nobodys",
    "nudge",
    "patience",
    "patient",
    "somebody",
];

/// Names that keep such a word: the principal without rights, as Unix calls its user, and a symbol of the code model (decision 0077).
const KNOWN_NAMES: [&str; 4] = ["nobody", "lg_principal_nobody", "THREAD_MEND", "_lg_thread_mend"];

const MOST_COLUMNS: usize = 100;

/// Pages that must name a word to talk about it.
const ABOUT_WORDS: [&str; 2] = ["docs/glossary.md", "docs/decisions/0077-words.md"];

/// The files of `folder` whose names end in one of `ends`, those of folders in it, too, if `deep`.
fn files(folder: &str, ends: &[&str], deep: bool) -> Vec<String> {
    let own = root().join(folder);
    let found = hygiene::files(folder, ends).into_iter();
    let found = found.filter(|path| deep || path.parent().is_some_and(|parent| parent == own));
    let path = |path: PathBuf| path.strip_prefix(root()).expect("in the tree").display().to_string();
    found.map(path).collect()
}

/// All documents: those at the root, and all of docs/.
fn pages() -> Vec<String> {
    let pages = [files("", &[".md"], false), files("docs", &[".md"], true)].concat();
    assert!(pages.len() > 100, "only {} pages", pages.len());
    pages
}

fn headers() -> Vec<String> {
    let headers = files("crates/lockgate-headers", &[".h", ".hpp"], true);
    assert!(headers.len() >= 6, "only {headers:?}");
    headers
}

/// Texts beside the documents that users read whole: READMEs of folders, what generated clients consist of, the package in Python, the script of the
/// extension.
fn other_texts() -> Vec<String> {
    let of_folders =
        ["crates", "demo", "examples", "tests"].map(|folder| files(folder, &["README.md"], true));
    let clients =
        ["runtime", "templates"].map(|folder| files(&format!("crates/lockgate-stubs/{folder}"), &[""], true));
    let python = files("crates/lockgate-python/python/lockgate", &[".py", ".pyi"], false);
    let texts =
        [of_folders.concat(), clients.concat(), python, files("postgres", &["--1.0.sql"], false)].concat();
    assert!(texts.len() > 150, "only {} texts", texts.len());
    texts
}

/// Sources whose comments maintainers read, and whose strings users.
fn sources() -> Vec<String> {
    let is_one =
        |path: &String| path.contains("/src/") && !path.contains("tests") && !path.ends_with("_asm.rs");
    let mut sources = files("crates", &[".rs"], true);
    sources.retain(is_one);
    assert!(sources.len() > 500, "only {} sources", sources.len());
    sources
}

/// The comments of a source, and its strings that are more than a name, but for those of its tests, with their lines.
fn comments_and_messages(source: &str) -> Vec<(usize, String)> {
    let tests = source.find("#[cfg(test)]\nmod tests").unwrap_or(source.len());
    let (mut found, mut line, mut rest) = (Vec::new(), 1, source);
    while let Some(first) = rest.chars().next() {
        let (taken, text) = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            (end, &rest[2..end])
        } else if let Some(string) = rest.strip_prefix("r#\"") {
            let end = string.find("\"#").unwrap_or(string.len());
            (3 + end + 2, &string[..end])
        } else if let Some(string) = rest.strip_prefix('"') {
            let mut is_escaped = false;
            let end = string.find(|c| {
                let is_end = c == '"' && !is_escaped;
                is_escaped = c == '\\' && !is_escaped;
                is_end
            });
            let end = end.unwrap_or(string.len());
            (1 + end + 1, &string[..end])
        } else if rest.starts_with("'\"'") {
            (3, "")
        } else {
            (first.len_utf8(), "")
        };
        let taken = taken.min(rest.len());
        if text.contains(' ') && (rest.starts_with("//") || source.len() - rest.len() < tests) {
            found.extend((line..).zip(text.lines().map(str::to_owned)));
        }
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    found
}

/// The comments of the headers, by line.
fn comments() -> Vec<(String, Vec<(usize, String)>)> {
    let comment = |path: String| {
        let (mut inside, mut lines) = (false, Vec::new());
        for (number, line) in (1..).zip(read(&path).lines()) {
            let begins = line.find("/*").or_else(|| line.find("//"));
            if inside || begins.is_some() {
                let text = if inside { line } else { &line[begins.unwrap_or_default()..] };
                lines.push((number, text.trim_start_matches(['/', '*', ' ']).to_owned()));
            }
            inside =
                (inside || begins.is_some_and(|at| line[at..].starts_with("/*"))) && !line.contains("*/");
        }
        (path, lines)
    };
    headers().into_iter().map(comment).collect()
}

/// The comments of public items in crates with Rust documentation, their fields and variants, by line. Modules that the runtime keeps to itself
/// are left aside.
fn rust_documentation() -> Vec<(String, Vec<(usize, String)>)> {
    let others = ["abi", "guest", "programs", "verify"].map(|name| format!("crates/lockgate-{name}/src"));
    let shown =
        ["dl", "domain", "error", "grant", "memory", "module", "registry", "report", "signature", "workers"]
            .map(|name| format!("crates/lockgate/src/{name}"));
    let folders = others.iter().chain(&shown).flat_map(|folder| files(folder, &[".rs"], true));
    let comment = |path: String| {
        let (mut block, mut found, mut in_attribute) = (Vec::new(), Vec::new(), false);
        for (number, line) in (1..).zip(read(&path).lines()) {
            let line = line.trim();
            in_attribute |= line.starts_with("#[");
            if let Some(text) = line.strip_prefix("///") {
                block.push((number, text.to_owned()));
            } else if !in_attribute {
                let is_public =
                    line.starts_with("pub ") || line.starts_with(|c: char| c.is_ascii_uppercase());
                found.extend(block.drain(..).filter(|_| is_public));
            }
            in_attribute &= !line.ends_with(']');
        }
        (path, found)
    };
    let found: Vec<_> = folders.chain(files("crates/lockgate/src", &[".rs"], false)).map(comment).collect();
    let lines: usize = found.iter().map(|(_, lines)| lines.len()).sum();
    assert!(lines > 1000, "only {lines} lines");
    found
}

/// The lines of a document without code, with their numbers.
fn text(text: &str) -> Vec<(usize, &str)> {
    let (mut is_code, mut found) = (false, Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with("    ") {
            found.push((number, line));
        }
    }
    found
}

/// Those of them that are prose: no tables.
fn prose(page: &str) -> Vec<(usize, &str)> {
    text(page).into_iter().filter(|(_, line)| !line.starts_with('|')).collect()
}

/// The line without what stands between backquotes, and without targets of links: names are what they are.
fn words(line: &str) -> String {
    let text: String = line.split('`').step_by(2).collect();
    let mut parts = text.split("](");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once(')').map_or("", |(_, rest)| rest)).to_lowercase()
}

#[test]
fn the_readme_is_a_door() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 90, "README.md has {lines} lines, 90 at most: put the rest on a page of docs/");
}

#[test]
fn lines_of_documents_fit() {
    let mut wrong = Vec::new();
    for path in pages() {
        for (number, line) in prose(&read(&path)) {
            let columns = line.chars().count();
            // A link or a name that cannot be broken may stand alone.
            if columns > MOST_COLUMNS && line.trim().contains(' ') && !line.starts_with("# ") {
                wrong.push(format!("{path}:{number}: {columns} columns, {MOST_COLUMNS} at most"));
            }
        }
    }
    // What stands behind code, tables and ruled lines are as wide as they are.
    let is_prose =
        |line: &str| line.starts_with(['/', '*']) && !line.contains("----") && !line.contains("*    ");
    for path in headers() {
        for (number, line) in (1..).zip(read(&path).lines()) {
            let columns = line.chars().count();
            if columns > MOST_COLUMNS && is_prose(line.trim_start()) {
                wrong.push(format!("{path}:{number}: {columns} columns, {MOST_COLUMNS} at most"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the words of one line.
fn faults(line: &str) -> Vec<String> {
    // (One word is a name of the interface.)
    let line = words(line).replace("nobody()", "");
    let found = WORDS.iter().filter(|(word, _)| line.contains(word));
    found.map(|(word, term)| format!("{word:?}; write {term}")).collect()
}

/// A sentence that begins with "What" or "Who" and asks nothing has a clause as its subject: name the thing.
fn hides_its_subject(sentence: &str) -> bool {
    let text = sentence.trim_start_matches(['-', ' ', '(']);
    (text.starts_with("What ") || text.starts_with("Who ")) && !sentence.contains('?')
}

/// The sentence that begins in this line: it goes on in the next ones.
fn sentence(lines: &[(usize, &str)]) -> String {
    let mut text = String::new();
    for (_, line) in lines {
        if !text.is_empty() && line.trim().is_empty() {
            break;
        }
        text = text + line.trim() + " ";
        if line.trim_end().ends_with(['.', '?', ':', '!']) {
            break;
        }
    }
    text
}

/// The sentences of comments, with the line in which each begins: they begin anywhere in a line.
fn sentences(lines: &[(usize, String)]) -> Vec<(usize, String)> {
    let (mut found, mut before): (Vec<(usize, String)>, usize) = (Vec::new(), 0);
    let mut goes_on = false;
    for (number, line) in lines {
        let line = line.trim().trim_end_matches("*/").trim();
        // Lines that do not follow each other are two comments; an empty one ends a paragraph.
        goes_on &= *number == before + 1 && !line.is_empty();
        before = *number;
        for piece in line.split_inclusive(['.', '?', '!', ':']) {
            match found.last_mut().filter(|_| goes_on) {
                Some((_, sentence)) => *sentence += &format!(" {}", piece.trim()),
                None => found.push((*number, piece.trim().to_owned())),
            }
            goes_on = !piece.trim_end().ends_with(['.', '?', '!', ':']);
        }
    }
    found
}

#[test]
fn words_are_those_of_the_field() {
    let mut wrong = Vec::new();
    for path in pages().iter().filter(|path| !ABOUT_WORDS.contains(&path.as_str())) {
        for (number, line) in text(&read(path)) {
            wrong.extend(faults(line).into_iter().map(|fault| format!("{path}:{number}: {fault}")));
        }
    }
    let others = other_texts().into_iter().map(|path| {
        let lines = read(&path).lines().map(str::to_owned).collect::<Vec<_>>();
        (path, (1..).zip(lines).collect())
    });
    let sources = sources().into_iter().map(|path| {
        let found = comments_and_messages(&read(&path));
        (path, found)
    });
    for (path, lines) in comments().into_iter().chain(rust_documentation()).chain(others).chain(sources) {
        for (number, line) in lines {
            wrong.extend(faults(&line).into_iter().map(|fault| format!("{path}:{number}: {fault}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The names in a source's code that have a word of [`NOT_IN_NAMES`]. (Its unit tests are named as other tests are, by what happens in them.)
fn ill_named(source: &str) -> Vec<(usize, &str)> {
    let code = source.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let names = (1..).zip(code).filter(|(_, line)| !line.trim_start().starts_with("//")).flat_map(
        |(number, line)| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_').map(move |name| (number, name))
        },
    );
    names.filter(|(_, name)| !KNOWN_NAMES.contains(name) && has_word_of(name)).collect()
}

fn has_word_of(name: &str) -> bool {
    let mut spaced = String::new();
    for c in name.chars() {
        if c.is_uppercase() && spaced.ends_with(|before: char| before.is_lowercase()) {
            spaced.push('_');
        }
        spaced.push(c);
    }
    spaced.to_lowercase().split('_').any(|word| NOT_IN_NAMES.contains(&word))
}

#[test]
fn names_have_words_that_pages_may_cite() {
    let mut wrong = Vec::new();
    for path in sources() {
        let text = read(&path);
        wrong.extend(ill_named(&text).iter().map(|(number, name)| format!("{path}:{number}: {name}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether another sentence begins in the middle of the line: behind a full stop, a capital letter. (Numbers, `e.g.` and dots of names have none.)
fn has_two_sentences(line: &str) -> bool {
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(['.', ' ', '-', '*']);
    let plain: String =
        line.split('`').enumerate().map(|(at, part)| if at % 2 == 0 { part } else { "xxx" }).collect();
    plain.match_indices(". ").any(|(at, _)| {
        let before = plain[..at].rsplit(' ').next().unwrap_or_default();
        plain[at + 2..].starts_with(|c: char| c.is_ascii_uppercase())
            && before.chars().count() > 2
            && !before.contains('.')
            && !before.ends_with("**")
    })
}

/// A line that is changed shows one sentence that was changed. Decisions and appendices are records, with words of their day.
#[test]
fn sentences_have_lines_of_their_own() {
    let mut wrong = Vec::new();
    let records = ["docs/decisions/", "docs/appendix/", "docs/review.md"];
    for path in pages().iter().filter(|path| !records.iter().any(|record| path.starts_with(record))) {
        for (number, line) in prose(&read(path)).into_iter().filter(|(_, line)| has_two_sentences(line)) {
            wrong.push(format!("{path}:{number}: two sentences in one line: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A term's meaning can be read at once: one sentence, in the second cell of its row.
#[test]
fn terms_have_one_sentence() {
    let page = read("docs/glossary.md");
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.contains("| meaning |"));
    let meanings: Vec<&str> = rows.filter_map(|row| row.split(" | ").nth(1)).collect();
    assert!(meanings.len() > 50, "only {} terms", meanings.len());
    let wrong: Vec<&str> =
        meanings.into_iter().filter(|cell| has_two_sentences(cell) || cell.contains(".) ")).collect();
    assert!(wrong.is_empty(), "docs/glossary.md: more than one sentence:\n{}", wrong.join("\n"));
    assert!(has_two_sentences("An ELF file. The verifier checks it."));
}

/// The text of a file, or of all sources below a folder, that the glossary names: by its path in the tree, or in the runtime.
fn named(path: &str) -> Option<String> {
    let places = [root().join(path), root().join("crates/lockgate/src").join(path)];
    let place = places.into_iter().find(|place| place.exists())?;
    if place.is_dir() {
        let folder = place.strip_prefix(root()).expect("in the tree").display().to_string();
        return Some(
            files(&folder, &[".rs", ".h", ".hpp", ".md"], true)
                .iter()
                .map(String::as_str)
                .map(read)
                .collect(),
        );
    }
    std::fs::read_to_string(place).ok()
}

/// A term is one of the code or of the documents: where its row names files, each has the word; what a row quotes is there; and no term is one
/// of the glossary alone.
#[test]
fn terms_are_those_of_code_and_documents() {
    let page = read("docs/glossary.md");
    let sources = [sources(), headers(), other_texts()].concat();
    let others: String = pages()
        .into_iter()
        .filter(|path| !ABOUT_WORDS.contains(&path.as_str()))
        .chain(sources)
        .map(|path| read(&path).to_lowercase().replace('\n', " "))
        .collect();
    let (mut terms, mut places, mut quotes, mut wrong) = (0, 0, 0, Vec::new());
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.contains("| meaning |")) {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
        let term = cells[0].replace("**", "").split(" (").next().unwrap_or_default().to_lowercase();
        let words: Vec<&str> = term.split(", ").collect();
        terms += words.len();
        wrong.extend(
            words
                .iter()
                .filter(|word| !others.contains(**word))
                .map(|word| format!("{word}: in no page and no source")),
        );
        for quote in row.split('`').skip(1).step_by(2) {
            let is_place = quote.contains('/') && !quote.contains(' ');
            let found = if is_place { named(quote).map(|text| text.to_lowercase()) } else { None };
            match found {
                Some(text) => {
                    places += 1;
                    let has = |word: &&str| text.contains(*word) || text.contains(&word.replace(' ', "_"));
                    if !words.iter().any(has) {
                        wrong.push(format!("{term}: not in {quote}"));
                    }
                }
                None if is_place => wrong.push(format!("{term}: there is no {quote}")),
                None => {
                    quotes += 1;
                    // (`LG_…`: names that begin so.)
                    if !others.contains(quote.trim_end_matches('…').to_lowercase().as_str()) {
                        wrong.push(format!("{term}: no page and no source has {quote}"));
                    }
                }
            }
        }
    }
    assert!(terms > 60 && places > 20 && quotes > 20, "{terms} terms, {places} places, {quotes} quotes");
    assert!(wrong.is_empty(), "docs/glossary.md:\n{}", wrong.join("\n"));
}

#[test]
fn sentences_name_their_subjects() {
    let mut wrong = Vec::new();
    for path in pages() {
        let text = read(&path);
        let lines = prose(&text);
        for (at, (number, _)) in lines.iter().enumerate().filter(|(_, (_, line))| !line.trim().is_empty()) {
            if hides_its_subject(&sentence(&lines[at..])) {
                wrong.push(format!("{path}:{number}: the subject is a clause: name the thing or the actor"));
            }
        }
    }
    for (path, lines) in comments() {
        for (number, sentence) in sentences(&lines) {
            if hides_its_subject(&sentence) {
                wrong.push(format!("{path}:{number}: the subject is a clause: name the thing or the actor"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// These rules find what they are there for.
#[test]
fn the_rules_of_prose_can_fail() {
    assert_eq!(faults("Nobody waits for `somebody`, in the slow way.").len(), 2);
    assert!(faults("A host waits (see [nobody's page](nobody.md)).").len() == 1);
    let source = "/// Help of it\nlet a = \"a \\\"b\"; // \"not this\"\nlet c = '\"'; d(r#\"e \"f\"\n g\"#, \"name\");";
    let found: Vec<_> =
        [(1, "/ Help of it"), (2, "a \\\"b"), (2, " \"not this\""), (3, "e \"f\""), (4, " g")]
            .map(|(at, text)| (at, text.to_owned()))
            .into();
    assert_eq!(comments_and_messages(source), found);
    let tests = "#[cfg(test)]\nmod tests {\n// nobody knows\nlet a = \"nobody knows\";";
    assert_eq!(comments_and_messages(tests), [(3, " nobody knows".to_owned())]);
    let names = "use a::NOBODY;\n// nobody\nfn f() { Whose::Nobodys }\nPrincipal::nobody()\n#[cfg(test)]\nnobody_waits();";
    assert_eq!(ill_named(names), [(1, "NOBODY"), (3, "Nobodys")]);
    assert!(hides_its_subject("- What the library wrote is copied."));
    assert!(hides_its_subject("Who installs modules is trusted."));
    for fine in ["What does a call cost?", "Whatever comes is checked.", "The library says what it wrote."] {
        assert!(!hides_its_subject(fine), "{fine}");
    }
    let comment = ["Frees it. What the", "library wrote is copied. Who", "is it? The host."];
    let lines: Vec<(usize, String)> = (1..).zip(comment.map(str::to_owned)).collect();
    let found: Vec<(usize, String)> =
        sentences(&lines).into_iter().filter(|(_, sentence)| hides_its_subject(sentence)).collect();
    assert_eq!(found, [(1, "What the library wrote is copied.".to_owned())]);
    assert!(has_two_sentences("- The host asks `a.b`. It waits."));
    for fine in ["1. Ask the host.", "See rule V3 (`a. B`).", "A host waits, e.g. Linux, for it."] {
        assert!(!has_two_sentences(fine), "{fine}");
    }
    assert_eq!(sentence(&[(1, "What does"), (2, "it cost?"), (3, "Nothing.")]), "What does it cost? ");
}
