//! Imports point one way: a module uses only what is below it.
//!
//! The sources are read, not compiled: every `crate::` path outside of comments and test code counts.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, lowest first. A module uses only modules of layers before its own.
const LAYERS: &[&[&str]] = &[
    // What needs nothing of the crate.
    &["sync", "options"],
    &["chance", "clock", "user", "task", "histogram"],
    // One protocol each, and numbers.
    &[
        "sleep", "word", "gate", "idle", "room", "drain", "timer", "permits", "stage", "tally", "ages",
        "budget", "metrics",
    ],
    &["inside", "retry"],
    &["failure"],
    // What is told of tasks.
    &["error", "dead_letter"],
    &["delay", "event"],
    // What the user writes, from the inside out, and sets.
    &["context", "meter"],
    &["processor"],
    &["config", "slot"],
    // What the pool is made of.
    &["job"],
    &["course", "lane"],
    &["shared"],
    // What can be done with it.
    &["batch", "current", "letters", "snapshot", "step", "submit", "tell"],
    &["attempt", "handle", "shutdown"],
    &["ending", "overload", "plain", "submitter", "worker"],
    // The pool around it.
    &["start"],
    &["pool"],
    &["manual", "prometheus"],
    &["builder"],
];

type Graph = BTreeMap<String, BTreeSet<String>>;

/// The text of a source file without comments and without what is compiled for tests alone.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let mut code = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    while let Some(line) = lines.next() {
        if is_test_only(line) {
            skip_item(&mut lines);
            continue;
        }
        code.push_str(line.split(" // ").next().unwrap_or(line));
        code.push('\n');
    }
    code
}

/// Whether the attribute keeps the item behind it out of the library.
fn is_test_only(line: &str) -> bool {
    let line = line.trim_start();
    ["#[cfg(test", "#[cfg(all(test", "#[cfg(doctest"].iter().any(|start| line.starts_with(start))
}

/// Skips an item: to its `;`, or to the brace that closes it, which stands where the item began.
fn skip_item<'a>(lines: &mut impl Iterator<Item = &'a str>) {
    let first = lines.find(|line| !line.trim_start().starts_with("#["));
    let Some(first) = first else { return };
    if first.ends_with(';') || first.ends_with('}') {
        return;
    }
    let indent = first.len() - first.trim_start().len();
    let end = format!("{}}}", &first[..indent]);
    lines.find(|line| *line == end);
}

/// The first names of all `crate::` paths, those in braces included.
fn imports_in(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            Some(group) => names.extend(names_of_group(group)),
            None => names.extend([first_name(rest)]),
        }
    }
    names
}

fn first_name(path: &str) -> String {
    path.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// The names that begin the parts of `{a::b, c::{d, e}}`, the opening brace taken off.
fn names_of_group(group: &str) -> Vec<String> {
    let mut names = vec![first_name(group)];
    let mut depth = 1;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => names.push(first_name(&group[at + 1..])),
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// A file of the library, with the module of the root that it belongs to.
struct Source {
    module: String,
    file: PathBuf,
    code: String,
}

/// The files that the library is compiled from, found by their `mod` lines; models and doctests are not among them.
fn sources() -> Vec<Source> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for module in declared_in(&code_of(&src.join("lib.rs"))) {
        collect(&src, &module, &module, &mut found);
    }
    found
}

fn declared_in(code: &str) -> Vec<String> {
    let lines = code.lines().filter_map(|line| line.trim().strip_suffix(';'));
    let declared = lines.filter_map(|line| line.strip_prefix("mod ").or(line.strip_prefix("pub mod ")));
    declared.map(str::to_string).collect()
}

/// The file of `name`, which is declared in `dir`, and of all that it declares.
fn collect(dir: &Path, name: &str, module: &str, found: &mut Vec<Source>) {
    let flat = dir.join(format!("{name}.rs"));
    let file = if flat.exists() { flat } else { dir.join(name).join("mod.rs") };
    let code = code_of(&file);
    let children = declared_in(&code);
    found.push(Source { module: module.to_string(), file, code });
    for child in children {
        collect(&dir.join(name), &child, module, found);
    }
}

fn graph() -> Graph {
    let mut graph = Graph::new();
    for Source { module, code, .. } in sources() {
        let mut imports = imports_in(&code);
        imports.remove(&module);
        graph.entry(module).or_default().extend(imports);
    }
    graph
}

/// The modules of a circle that is reached from `module`, if there is one.
fn circle_from<'a>(graph: &'a Graph, module: &'a str, path: &mut Vec<&'a str>) -> Option<Vec<&'a str>> {
    if let Some(start) = path.iter().position(|other| *other == module) {
        return Some(path[start..].to_vec());
    }
    path.push(module);
    let imports = graph.get(module).into_iter().flatten();
    let found = imports.into_iter().find_map(|import| circle_from(graph, import, path));
    path.pop();
    found
}

#[test]
fn no_module_uses_itself_through_others() {
    let graph = graph();
    assert!(graph.len() > 30, "the sources were not found");
    for module in graph.keys() {
        let circle = circle_from(&graph, module, &mut Vec::new());
        assert_eq!(circle, None, "these modules use each other in a circle");
    }
}

#[test]
fn each_module_uses_only_what_is_below_it() {
    let layer_of = |module: &str| LAYERS.iter().position(|layer| layer.contains(&module));
    let mut wrong = Vec::new();
    for (module, imports) in graph() {
        let Some(own) = layer_of(&module) else {
            wrong.push(format!("{module} has no layer"));
            continue;
        };
        for import in imports {
            let is_below = layer_of(&import).is_some_and(|layer| layer < own);
            if !is_below {
                wrong.push(format!("{module} uses {import}, which is not below it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_table_of_layers_names_what_exists_and_each_module_once() {
    let graph = graph();
    let mut named: Vec<_> = LAYERS.iter().flat_map(|layer| layer.iter().copied()).collect();
    named.sort_unstable();
    assert_eq!(named, graph.keys().collect::<Vec<_>>());
}

#[test]
fn nothing_goes_around_the_paths_that_are_read() {
    for Source { module, file, code } in sources() {
        let is_root_file = file.ends_with(format!("src/{module}.rs"));
        assert!(!is_root_file || !code.contains("super::"), "{} uses the root by `super`", file.display());
        let of_root = imports_in(&code).into_iter().find(|name| name.starts_with(char::is_uppercase));
        assert_eq!(of_root, None, "{} uses a name that the root exports again", file.display());
    }
}

/// What the models swap, as far as the code names it without the facade.
fn locks_in(code: &str) -> BTreeSet<String> {
    let is_lock =
        |name: &str| ["Mutex", "RwLock", "Condvar", "Barrier", "park", "park_timeout"].contains(&name);
    let statements =
        code.split(';').map(str::trim_start).filter(|statement| statement.starts_with("use std::"));
    let words = statements.flat_map(|statement| statement.split(|c: char| !c.is_alphanumeric() && c != '_'));
    let in_paths = ["std::sync::", "thread::"]
        .into_iter()
        .flat_map(|path| code.match_indices(path).map(move |(at, _)| &code[at + path.len()..]));
    let mut locks: BTreeSet<_> = words.map(str::to_string).chain(in_paths.map(first_name)).collect();
    locks.retain(|name| is_lock(name));
    let crates = ["parking_lot::", "loom::", "shuttle::"].into_iter().filter(|name| code.contains(name));
    locks.extend(crates.map(str::to_string));
    locks
}

/// A lock that is named elsewhere would be invisible to the models.
#[test]
fn locks_and_park_tokens_are_named_in_one_place() {
    for Source { module, file, code } in sources() {
        if module != "sync" {
            assert_eq!(locks_in(&code), BTreeSet::new(), "{} names them beside `sync`", file.display());
        }
    }
}

#[test]
fn locks_are_found_in_imports_and_in_paths() {
    let code = "use std::sync::{Arc, Condvar};\nuse crate::sync::RwLock;\nfn f(m: std::sync::Mutex<Barrier>) { thread::park() }\n";
    assert_eq!(locks_in(code).into_iter().collect::<Vec<_>>(), ["Condvar", "Mutex", "park"]);
}

#[test]
fn paths_are_found_in_groups_and_in_the_middle_of_code() {
    let code =
        "use crate::{\n    a::b,\n    c::{d, e},\n};\nfn f() { crate::g::h() }\npub(crate) use crate::i::j;";
    assert_eq!(imports_in(code).into_iter().collect::<Vec<_>>(), ["a", "c", "g", "i"]);
}
