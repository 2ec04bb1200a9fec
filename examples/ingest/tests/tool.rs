//! What a script or a person at a terminal relies on: exit codes, clear lines, and names that do no harm.
#![cfg(unix)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod support;

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use support::{Finished, WATCHDOG, data, finish, folder, ingest, signal, spawn, start, thumbnails, wait};

const PICTURE: &str = "pictures/buoy.png";

/// One line on standard error that says all of this, nothing on standard output, and a code of 1.
fn assert_refused(run: &Finished, says: &[&str]) {
    assert_eq!((run.code, run.text.as_str()), (Some(1), ""), "{}", run.errors);
    assert_eq!(run.errors.lines().count(), 1, "{}", run.errors);
    for part in says {
        assert!(run.errors.contains(part), "no {part:?} in {}", run.errors);
    }
}

/// The program without the superuser's right to pass by permissions. `None`, and a line, where that cannot be had.
fn without_privileges(folder: &Path) -> Option<Command> {
    let probe = folder.join("probe");
    fs::create_dir(&probe).expect("writable");
    set_mode(&probe, 0);
    let mut dropped = Command::new("setpriv");
    dropped.args(["--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]);
    let listed = Command::new("setpriv").args(dropped.get_args()).arg("ls").arg(&probe).output();
    let says_denied =
        listed.is_ok_and(|ran| String::from_utf8_lossy(&ran.stderr).contains("Permission denied"));
    let is_bound = fs::read_dir(&probe).is_err();
    fs::remove_dir(&probe).expect("empty");
    dropped.arg(env!("CARGO_BIN_EXE_ingest"));
    let program = if is_bound { Some(ingest()) } else { says_denied.then_some(dropped) };
    if program.is_none() {
        eprintln!("skipped: permissions do not bind this user, and setpriv cannot change that");
    }
    program
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("its owner may");
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

/// A directory in `parent` whose path is longer than a system call takes.
fn too_deep(parent: &Path) {
    let script = r#"cd "$1" && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do mkdir "$2" && cd -P "$2" || exit; done"#;
    let made = Command::new("sh").args(["-c", script, "sh"]).arg(parent).arg("d".repeat(250)).status();
    assert!(made.expect("sh").success());
}

fn places(run: &Finished) -> Vec<&str> {
    let after = run.text.lines().skip_while(|line| !line.starts_with("places that could not be looked at:"));
    after.skip(1).take_while(|line| line.starts_with("  ")).collect()
}

#[test]
fn a_root_that_is_no_directory_is_one_clear_line_and_an_error() {
    let folder = folder("no-directory");
    let at = |name: &str| folder.join(name);
    pipe(&at("pipe"));
    symlink("loop", at("loop")).expect("links work here");
    symlink("/dev/null", at("device")).expect("links work here");
    for (name, reason) in [
        ("absent", "No such file"),
        ("pipe", "Not a directory"),
        ("device", "Not a directory"),
        ("loop", "symbolic links"),
    ] {
        let run = finish(start(&at(name), &at("out"), &[]));
        assert_refused(&run, &[name, reason]);
    }
    assert!(!at("out").exists(), "nothing is made for a run that does not begin");
}

#[test]
fn a_directory_that_cannot_be_entered_or_listed_is_an_error() {
    let folder = folder("locked");
    let input = folder.join("input");
    fs::create_dir(&input).expect("writable");
    fs::write(input.join("text"), "two words\n").expect("writable");
    for mode in [0o000, 0o444, 0o111] {
        let Some(mut program) = without_privileges(&folder) else { return };
        set_mode(&input, mode);
        let run = finish(spawn(program.arg(&input)));
        set_mode(&input, 0o755);
        assert_refused(&run, &["input", "Permission denied"]);
    }
}

#[test]
fn a_folder_that_takes_no_thumbnails_is_an_error_before_the_run() {
    let folder = folder("full-out");
    let out = folder.join("out");
    fs::write(&out, "").expect("writable");
    assert_refused(&finish(start(&data(), &out, &[])), &["out"]);
    fs::remove_file(&out).expect("is there");
    fs::create_dir(&out).expect("writable");
    let Some(mut program) = without_privileges(&folder) else { return };
    set_mode(&out, 0o555);
    let run = finish(spawn(program.arg(data()).arg("--out").arg(&out)));
    set_mode(&out, 0o755);
    assert_refused(&run, &["out", "Permission denied"]);
}

#[test]
fn places_that_cannot_be_looked_at_are_named_with_the_reason_and_counted() {
    let folder = folder("places");
    let input = folder.join("input");
    fs::create_dir(&input).expect("writable");
    for name in ["a", "z"] {
        fs::write(input.join(name), "two words\n").expect("writable");
    }
    too_deep(&input);
    pipe(&input.join("pipe"));
    let (program, locked) = (without_privileges(&folder), input.join("locked"));
    fs::create_dir(&locked).expect("writable");
    let is_locked = program.is_some();
    set_mode(&locked, if is_locked { 0 } else { 0o755 });
    let run = finish(spawn(program.unwrap_or_else(ingest).arg(&input).arg("--json")));
    set_mode(&locked, 0o755);
    assert_eq!(run.code, Some(0), "{}", run.errors);
    let named = |name: &str, reason: &str| {
        places(&run).iter().filter(|line| line.contains(name) && line.contains(reason)).count()
    };
    assert_eq!(named("ddd", "File name too long"), 1, "{}", run.text);
    assert_eq!(named("pipe", "neither a file nor a directory"), 1, "{}", run.text);
    assert_eq!(named("locked", "Permission denied"), usize::from(is_locked), "{}", run.text);
    let totals = run.totals();
    assert_eq!(totals["unreadable"], 2 + u64::from(is_locked), "{totals}");
    assert_eq!(totals["files"], 2, "what can be read is read");
}

#[test]
fn only_what_was_read_counts_as_a_file() {
    let input = folder("unread");
    fs::write(input.join("read"), "two words\n").expect("writable");
    fs::write(input.join("broken.png"), "no picture").expect("writable");
    symlink("nothing", input.join("dangling")).expect("links work here");
    let run = finish(start(&input, &folder("unread-out"), &[]));
    assert_eq!(run.totals()["files"], 2, "{}", run.text);
    assert!(run.text.contains("\n2 files, 20 B, in "), "{}", run.text);
}

/// Each control character that a file name can have, and some that turn the direction of writing or end a line.
fn steering() -> String {
    let controls = ('\u{1}'..='\u{9f}').filter(|c| c.is_control());
    controls.chain(['\u{2028}', '\u{202e}', '\u{2066}']).collect()
}

fn assert_harmless(run: &Finished) {
    let steers = |c: char| c != '\n' && steering().contains(c);
    for text in [&run.text, &run.errors] {
        assert!(!text.contains(steers), "{text:?}");
        // A name does not begin a line either.
        assert!(!text.lines().any(|line| line.starts_with("forged")), "{text:?}");
    }
}

fn evil(name: &str) -> String {
    format!("{name}{}\nforged", steering())
}

#[test]
fn a_name_does_not_steer_a_terminal() {
    let folder = folder("evil");
    let (input, out) = (folder.join(evil("input")), folder.join(evil("out")));
    fs::create_dir(&input).expect("writable");
    let at = |name: &str| input.join(evil(name));
    fs::copy(data().join(PICTURE), at("picture")).expect("copied");
    fs::write(input.join(format!("{}.png", evil("broken"))), "").expect("writable");
    symlink("nothing", at("dangling")).expect("links work here");
    too_deep(&input);
    let numbers = folder.join(evil("numbers"));
    let options = ["--prometheus", numbers.to_str().expect("text"), "--progress", "1ms", "--flaky", "1"];
    let run = finish(start(&input, &out, &options));
    assert_eq!(run.code, Some(0), "{}", run.errors);
    assert_harmless(&run);
    assert_eq!(
        (run.letters().iter().filter(|line| line.contains(r"\x1B")).count(), places(&run).len()),
        (3, 1)
    );
    let text = fs::read_to_string(&numbers).expect("written");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    for thumbnail in thumbnails(&out) {
        let name = thumbnail.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c)), "{name:?}");
    }
}

#[test]
fn a_name_in_an_error_does_not_steer_a_terminal() {
    let folder = folder("evil-errors");
    let at = |name: &str| folder.join(evil(name));
    fs::write(at("file"), "").expect("writable");
    let below_file = at("file").join("below").into_os_string();
    let [absent, out, numbers] = [at("absent").into_os_string(), below_file.clone(), below_file];
    let data = data().into_os_string();
    for arguments in [
        vec![absent],
        vec![data.clone(), "--out".into(), out],
        vec![data.clone(), "--prometheus".into(), numbers],
    ] {
        let run = finish(spawn(ingest().args(&arguments)));
        assert_refused(&run, &[r"\x1B"]);
        assert_harmless(&run);
    }
    // What a shell makes of `ingest *`.
    for arguments in [[data.clone(), at("file").into()], ["--flaky".into(), at("file").into()]] {
        let run = finish(spawn(ingest().args(&arguments)));
        assert_eq!((run.code, run.text.as_str()), (Some(2), ""), "{}", run.errors);
        let controls = |c: char| c != '\n' && steering().contains(c);
        assert!(!run.errors.contains(controls), "{:?}", run.errors);
    }
}

/// Runs it with a folder for temporary files of its own; says what was left there.
fn leftovers(name: &str, input: &Path) -> (Finished, Vec<PathBuf>) {
    let temporary = folder(&format!("{name}-temporary"));
    let run = finish(spawn(ingest().arg(input).env("TMPDIR", &temporary)));
    (run, thumbnails(&temporary))
}

#[test]
fn a_temporary_folder_is_made_only_for_thumbnails() {
    let (run, left) = leftovers("absent", Path::new("no/such/directory"));
    assert_eq!((run.code, left), (Some(1), vec![]));

    let input = folder("only-text");
    fs::write(input.join("text"), "two words\n").expect("writable");
    fs::write(input.join("broken.png"), "").expect("writable");
    let (run, left) = leftovers("text", &input);
    assert_eq!((run.code, left), (Some(0), vec![]), "{}", run.text);
    assert!(run.text.contains("\npictures: 0, thumbnails: 0\n"), "{}", run.text);

    fs::copy(data().join(PICTURE), input.join("picture")).expect("copied");
    let (run, left) = leftovers("picture", &input);
    assert_eq!((run.code, left.len()), (Some(0), 1), "{}", run.text);
    assert!(run.text.contains(&format!("thumbnails: 1, in {}\n", left[0].display())), "{}", run.text);
    assert_eq!(thumbnails(&left[0]).len(), 1);
}

#[test]
fn a_run_that_is_terminated_reports_and_ends_with_a_code_of_its_own() {
    for name in ["INT", "TERM"] {
        let out = folder(&format!("terminated-{name}"));
        // The notices keep it busy for at least a second after the first thumbnail.
        let child = start(&data(), &out, &["--flaky", "1", "--timeout", "0"]);
        let end = Instant::now() + WATCHDOG;
        while thumbnails(&out).is_empty() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        signal(&child, name);
        let run = finish(child);
        assert_eq!(run.code, Some(130), "{name}: {}", run.errors);
        assert_eq!(run.totals()["interrupted"], true, "{name}: {}", run.text);
        assert!(run.errors.contains("interrupted"), "{name}: {}", run.errors);
    }
    let run = finish(start(&data(), &folder("not-terminated"), &[]));
    assert_eq!((run.code, &run.totals()["interrupted"]), (Some(0), &false.into()));
}

#[test]
fn a_report_that_nobody_reads_can_be_interrupted() {
    let input = folder("unread-report");
    // More letters than fit into a pipe.
    for number in 0..2000 {
        symlink("nothing", input.join(format!("{number:0100}"))).expect("links work here");
    }
    let mut child = start(&input, &folder("unread-report-out"), &[]);
    let mut stdout = child.stdout.take().expect("piped");
    stdout.read_exact(&mut [0]).expect("the report begins");
    signal(&child, "INT");
    assert_eq!(wait(&mut child), Some(130));
}

#[test]
fn a_long_run_without_a_terminal_says_now_and_then_how_far_it_is() {
    let run = finish(start(&data(), &folder("told"), &["--flaky", "1", "--progress", "50ms"]));
    let told: Vec<_> = run.errors.lines().collect();
    // Five retries take more than a second.
    assert!(told.len() > 3, "{}", run.errors);
    assert!(told.iter().all(|line| line.contains("tasks ended; waiting: ")), "{}", run.errors);

    let run = finish(start(&data(), &folder("untold"), &[]));
    assert_eq!(run.errors, "", "a short run needs no line");
}

#[test]
#[cfg(target_os = "linux")]
fn numbers_that_cannot_be_written_cost_the_code_but_not_the_report() {
    let run = finish(start(&data(), &folder("full"), &["--prometheus", "/dev/full"]));
    assert_eq!((run.code, &run.totals()["files"]), (Some(1), &19.into()), "{}", run.text);
    assert!(run.errors.contains("/dev/full") && run.errors.contains("No space left"), "{}", run.errors);
}
