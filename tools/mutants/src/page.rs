//! `docs/models.md`, from the documentation of the models and from the tables of mutants.

use crate::scratch::root;
use crate::table;
use std::error::Error;
use std::fmt::Write;
use std::fs;

/// One file of models.
struct File {
    name: String,
    /// Its documentation.
    about: String,
    models: Vec<Model>,
}

struct Model {
    name: String,
    shows: String,
}

/// The whole page.
pub(crate) fn page() -> Result<String, Box<dyn Error>> {
    let files = files()?;
    let models: usize = files.iter().map(|file| file.models.len()).sum();
    let mut page = String::from("# The models and what they show\n\n");
    let _ =
        writeln!(page, "Made by `cargo run -p mutants -- --page`; a test of that crate compares the two.\n");
    let _ = writeln!(page, "{models} models, {} mutants.\n", table::all().count());
    for file in files {
        if file.models.is_empty() && file.name != "mod" {
            continue;
        }
        if file.name != "mod" {
            let _ = writeln!(page, "## `{}`\n", file.name);
        }
        let _ = writeln!(page, "{}\n", file.about);
        for Model { name, shows } in &file.models {
            let test = format!("{}::{name}", file.name);
            let mutants: Vec<_> = table::all().filter(|mutant| mutant.tests.contains(&&*test)).collect();
            let _ = writeln!(page, "- **`{test}`** {shows}");
            for mutant in mutants {
                let _ = writeln!(page, "  - *{}*: {}.", mutant.name, mutant.purpose);
            }
        }
        if !file.models.is_empty() {
            page.push('\n');
        }
    }
    Ok(page.trim_end().to_string() + "\n")
}

/// `mod.rs` first, then by name.
fn files() -> Result<Vec<File>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("src/models"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let about = doc(&text.lines().collect::<Vec<_>>(), "//!");
        files.push(File { models: models(&text)?, about, name });
    }
    files.sort_by_key(|file| (file.name != "mod", file.name.clone()));
    Ok(files)
}

/// The tests of a file, each with its documentation.
fn models(text: &str) -> Result<Vec<Model>, Box<dyn Error>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut models = Vec::new();
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| **line == "#[test]") {
        let name = lines.get(at + 1).and_then(|line| line.strip_prefix("fn ")?.split('(').next());
        let name = name.ok_or("a test without a name")?.to_string();
        let start =
            lines[..at].iter().rposition(|line| !line.starts_with("///")).map_or(0, |before| before + 1);
        let shows = doc(&lines[start..at], "///").replace('\n', " ");
        if shows.is_empty() {
            return Err(format!("the model {name} does not say what it shows").into());
        }
        models.push(Model { name, shows });
    }
    Ok(models)
}

/// The text of the comment lines at the start.
fn doc(lines: &[&str], mark: &str) -> String {
    let marked = lines.iter().map_while(|line| line.strip_prefix(mark));
    marked.map(str::trim_start).collect::<Vec<_>>().join("\n").trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_what_the_sources_say() {
        let written = fs::read_to_string(root().join("docs/models.md")).unwrap();
        let page = page().unwrap();
        let differs = written.lines().zip(page.lines()).find(|(written, now)| written != now);
        assert_eq!(differs, None, "run `cargo run -p mutants -- --page > docs/models.md`");
        assert_eq!(written.len(), page.len(), "run `cargo run -p mutants -- --page > docs/models.md`");
    }

    #[test]
    fn each_model_has_a_mutant_and_each_mutant_a_model() {
        let files = files().unwrap();
        let names = files
            .iter()
            .flat_map(|file| file.models.iter().map(|one| format!("{}::{}", file.name, one.name)));
        let names: Vec<String> = names.collect();
        let killers: Vec<&str> = table::all().flat_map(|mutant| mutant.tests).copied().collect();
        for killer in &killers {
            assert!(names.iter().any(|name| name == killer), "there is no model {killer}");
        }
        let idle: Vec<_> = names.iter().filter(|name| !killers.contains(&&***name)).collect();
        assert!(idle.is_empty(), "no mutant shows what these are for: {idle:?}");
    }

    /// Said in a second, instead of by a run of minutes.
    #[test]
    fn the_text_of_each_mutant_is_in_its_file_once() {
        for mutant in table::all() {
            let text = fs::read_to_string(root().join(mutant.file)).unwrap();
            assert_eq!(text.matches(mutant.find).count(), 1, "{} in {}", mutant.name, mutant.file);
        }
    }
}
