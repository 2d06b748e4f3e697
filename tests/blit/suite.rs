//! The JSON test suite: every y_ is taken, every n_ refused; what the i_ cases do.

use tare::blit::{from_json, Options, Surrogates};

use crate::common;

#[test]
fn the_suite_is_taken_and_refused_as_it_says() {
    let Some(folder) = common::shared("data/json/JSONTestSuite") else {
        return;
    };
    let (mut counts, mut wrong) = ([0; 3], Vec::new());
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let text = std::fs::read(&path).unwrap();
            let taken = from_json(&text, &Options::default());
            match &name[..2] {
                "y_" => {
                    counts[0] += 1;
                    if let Err(error) = taken {
                        wrong.push(format!("{name}: {error}"));
                    }
                }
                "n_" => {
                    counts[1] += 1;
                    if taken.is_ok() {
                        wrong.push(format!("{name} is taken"));
                    }
                }
                "i_" => {
                    counts[2] += 1;
                    let keep = Options {
                        surrogates: Surrogates::Keep,
                        ..Options::default()
                    };
                    let expected = name.starts_with("i_number") || name.contains("500_nested");
                    let kept = from_json(&text, &keep).is_ok();
                    if taken.is_ok() != expected {
                        wrong.push(format!("{name}: {taken:?}"));
                    }
                    eprintln!("{name}: {} {kept}", taken.is_ok());
                }
                _ => {}
            }
        }
    }
    assert_eq!([95, 188, 35], counts);
    assert!(wrong.is_empty(), "{wrong:#?}");
}
