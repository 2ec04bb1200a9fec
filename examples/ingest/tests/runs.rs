//! Runs the program as a user would, and checks that it accounts for every task.

mod support;

use std::fs;
use std::path::Path;

use prometheus_parse::Scrape;
use serde_json::Value;

use support::{assert_conserved, data, finish, folder, start, thumbnails};

#[test]
fn every_sample_file_is_accounted_for_and_the_broken_ones_are_named() {
    let out = folder("samples");
    let run = finish(start(&data(), &out, &[]));
    assert_eq!(run.code, Some(0), "{}", run.text);
    let totals = run.totals();
    assert_conserved(&totals);
    assert_eq!((&totals["files"], &totals["thumbnails"]), (&19.into(), &9.into()));
    // The link to nowhere was not read.
    // 20 parses of which 2 fail, 9 previews, 18 notices.
    assert_eq!(totals["pool"]["succeeded"], 18 + 9 + 18, "{}", run.text);
    assert_eq!(totals["pool"]["dead_lettered"], 2);
    for broken in ["truncated.png", "to-nowhere.txt"] {
        let named = run
            .letters()
            .iter()
            .filter(|line| line.contains(broken) && line.contains("NotRetryable"))
            .count();
        assert_eq!(named, 1, "{broken} in {}", run.text);
    }
    assert_eq!(thumbnails(&out).len(), 9);
    for thumbnail in thumbnails(&out) {
        let (width, height) = image::image_dimensions(&thumbnail).expect("a picture");
        assert!(width.max(height) <= 128, "{}", thumbnail.display());
    }
}

#[test]
fn an_endpoint_that_refuses_everything_costs_the_notices_only() {
    let run = finish(start(&data(), &folder("refusing"), &["--flaky", "1"]));
    assert_eq!(run.code, Some(0), "{}", run.text);
    let totals = run.totals();
    assert_conserved(&totals);
    assert_eq!(totals["thumbnails"], 9);
    assert_eq!(totals["pool"]["dead_lettered"], 2 + 18);
    assert_eq!(totals["pool"]["retries"], 18 * 5);
    let exhausted = run.letters().iter().filter(|line| line.contains("the endpoint answered 503")).count();
    assert_eq!(exhausted, 18, "{}", run.text);
}

#[test]
fn queues_of_one_slot_lose_nothing_but_notices() {
    let run =
        finish(start(&data(), &folder("narrow"), &["--capacity", "1", "--workers", "1", "--flaky", "0.5"]));
    assert_eq!(run.code, Some(0), "{}", run.text);
    let totals = run.totals();
    assert_conserved(&totals);
    assert_eq!((&totals["files"], &totals["thumbnails"]), (&19.into(), &9.into()));
}

#[test]
fn one_thumbnail_at_a_time_is_slower_but_no_less() {
    let options = ["--capacity", "1", "--workers", "4", "--limit-preview", "1"];
    let run = finish(start(&data(), &folder("limited"), &options));
    assert_eq!(run.code, Some(0), "{}", run.text);
    let totals = run.totals();
    assert_conserved(&totals);
    assert_eq!((&totals["thumbnails"], &totals["follow_ups_refused"]), (&9.into(), &0.into()));
}

#[test]
fn a_notice_that_cannot_arrive_in_time_is_given_up() {
    // The first retry comes after 25 ms at the earliest, and five of them take more than 100 ms.
    let run = finish(start(&data(), &folder("late"), &["--flaky", "1", "--ttl", "100ms"]));
    assert_eq!(run.code, Some(0), "{}", run.text);
    let totals = run.totals();
    assert_conserved(&totals);
    assert_eq!((&totals["pool"]["expired"], &totals["pool"]["dead_lettered"]), (&18.into(), &2.into()));
    assert!(run.text.contains("notices given up as too old: 18"), "{}", run.text);
}

#[test]
fn waits_and_run_times_are_told_for_each_lane() {
    let run = finish(start(&data(), &folder("times"), &[]));
    let totals = run.totals();
    let lanes = totals["lanes"].as_array().expect("a list");
    let names: Vec<_> = lanes.iter().map(|lane| &lane["name"]).collect();
    assert_eq!(names, ["parse", "preview", "notify"], "{totals}");
    for lane in lanes {
        for times in [&lane["wait_ms"], &lane["run_ms"]] {
            let quantiles = ["p50", "p90", "p99", "max"].map(|q| times[q].as_f64().expect("a number"));
            assert!(quantiles[0] > 0.0 && quantiles.is_sorted(), "{lane}");
        }
    }
    for row in ["| wait, median", "| wait, 99 %", "| run, median", "| run, 99 %"] {
        assert_eq!(run.text.lines().filter(|line| line.starts_with(row)).count(), 1, "{row} in {}", run.text);
    }
}

#[test]
fn what_was_there_before_in_the_line_of_totals_stays_in_front() {
    let run = finish(start(&data(), &folder("prefix"), &[]));
    let last = run.text.lines().last().unwrap_or_default();
    let names = [
        r#"{"pool":{"submitted":"#,
        r#","retries":"#,
        r#"},"files":"#,
        r#","thumbnails":"#,
        r#","elapsed_ms":"#,
        r#","follow_ups_refused":"#,
        r#","lanes":["#,
    ];
    let places: Vec<_> = names.iter().map(|name| last.find(name)).collect();
    assert!(places[0] == Some(0) && places.iter().all(Option::is_some) && places.is_sorted(), "{last}");
}

#[test]
fn the_numbers_for_prometheus_are_those_of_the_report() {
    let file = folder("exposed").join("numbers.txt");
    let name = file.to_str().expect("plain");
    let run = finish(start(&data(), &folder("exposed-out"), &["--flaky", "0.5", "--prometheus", name]));
    assert_eq!(run.code, Some(0), "{}", run.text);
    let text = fs::read_to_string(&file).expect("written");
    assert!(text.ends_with("# EOF\n"), "{text}");
    let scrape = Scrape::parse(text.lines().map(|line| Ok(line.to_owned()))).expect("readable");
    let sum = |metric: &str, label: &str, value: &str| -> f64 {
        let samples = scrape.samples.iter().filter(|sample| sample.metric == metric);
        let wanted = samples.filter(|sample| label.is_empty() || sample.labels.get(label) == Some(value));
        wanted
            .map(|sample| match sample.value {
                prometheus_parse::Value::Untyped(n) | prometheus_parse::Value::Gauge(n) => n,
                ref other => panic!("{metric} is {other:?}"),
            })
            .sum()
    };
    let totals = run.totals();
    for outcome in ["succeeded", "dead_lettered", "cancelled", "expired", "evicted", "abandoned"] {
        let exposed = sum("dockhand_tasks_total", "outcome", outcome);
        assert_eq!(Some(exposed), totals["pool"][outcome].as_f64(), "{outcome}");
    }
    for answer in ["accepted", "rejected", "caller_run", "dropped"] {
        let exposed = sum("dockhand_submits_total", "answer", answer);
        assert_eq!(Some(exposed), totals["pool"][answer].as_f64(), "{answer}");
    }
    assert_eq!(Some(sum("dockhand_retries_total", "", "")), totals["pool"]["retries"].as_f64());
    // The letters are still in the store, and every attempt was timed.
    assert_eq!(Some(sum("dockhand_letters", "", "")), totals["pool"]["dead_lettered"].as_f64());
    let timed = sum("dockhand_run_seconds_count", "", "") + sum("dockhand_caller_run_seconds_count", "", "");
    assert_eq!(timed, sum("dockhand_attempts_total", "", ""));
}

#[test]
fn a_file_that_cannot_be_written_ends_the_run_before_it_starts() {
    let run = finish(start(&data(), &folder("unwritable"), &["--prometheus", "no/such/folder/numbers"]));
    assert_ne!(run.code, Some(0));
    assert!(run.text.is_empty(), "{}", run.text);
}

#[test]
fn a_folder_below_the_directory_can_take_the_thumbnails() {
    let input = folder("below");
    fs::copy(data().join("pictures/buoy.png"), input.join("buoy.png")).expect("copied");
    let out = input.join("out");
    for _ in 0..2 {
        let run = finish(start(&input, &out, &[]));
        assert_eq!(run.totals()["files"], 1, "{}", run.text);
    }
    assert_eq!(thumbnails(&out).len(), 1);
    assert_ne!(finish(start(&input, &input, &[])).code, Some(0));
}

#[test]
fn a_directory_that_is_not_there_is_an_error() {
    let run = finish(start(Path::new("no/such/directory"), &folder("absent"), &[]));
    assert_ne!(run.code, Some(0));
}

#[cfg(unix)]
mod interrupted {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::support::{Finished, WATCHDOG, signal};
    use super::*;

    /// Starts a long run over copies of a picture, and sends SIGINT once it has made some thumbnails.
    fn interrupt(name: &str, picture: &str, made: usize, options: &[&str]) -> (Finished, Duration) {
        let (input, out) = (folder(name).join("input"), folder(&format!("{name}-out")));
        fs::create_dir_all(&input).expect("writable");
        for number in 0..2000 {
            fs::copy(data().join("pictures").join(picture), input.join(format!("{number}.png")))
                .expect("copied");
        }
        let child = start(&input, &out, options);
        let end = Instant::now() + WATCHDOG;
        while thumbnails(&out).len() < made && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        let sent = Instant::now();
        signal(&child, "INT");
        (finish(child), sent.elapsed())
    }

    #[test]
    fn without_time_to_drain_the_rest_is_reported_as_abandoned() {
        let (run, took) =
            interrupt("abort", "one-pixel.png", 1, &["--timeout", "0", "--flaky", "1", "--workers", "1"]);
        assert_eq!(run.code, Some(130), "{}", run.text);
        assert!(took < Duration::from_secs(5), "{took:?}");
        let totals = run.totals();
        assert_conserved(&totals);
        assert!(totals["pool"]["abandoned"].as_u64() > Some(0), "{totals}");
    }

    #[test]
    fn with_time_to_drain_what_was_taken_is_finished_but_for_the_thumbnails_that_wait() {
        let options = [
            "--timeout",
            "30s",
            "--flaky",
            "0",
            "--capacity",
            "64",
            "--workers",
            "4",
            "--limit-preview",
            "1",
        ];
        let (run, took) = interrupt("drain", "gradient.png", 20, &options);
        assert_eq!(run.code, Some(130), "{}", run.text);
        assert!(took < Duration::from_secs(30), "{took:?}");
        let totals = run.totals();
        assert_conserved(&totals);
        assert_eq!(totals["pool"]["abandoned"], 0);
        let number = |value: &Value| value.as_u64().expect("a number");
        let cancelled = number(&totals["pool"]["cancelled"]);
        assert!(cancelled > 0, "{totals}");
        let not_offered = number(&totals["follow_ups_refused"]);
        assert_eq!(
            number(&totals["thumbnails"]) + cancelled + not_offered,
            number(&totals["files"]),
            "{totals}"
        );
    }
}
