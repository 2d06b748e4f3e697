//! R itself reads what is written here, and says that it is identical to what it wrote.

use crate::common;
use crate::r_files;

use std::fmt::Write as _;
use std::process::Command;

use tare::compress::Compressor;
use tare::robject::{read, read_rdata, write, write_rdata, Encoding, ReadOptions, WriteOptions};

use common::folder::Folder;
use r_files::group;

/// Runs a script of R; None where R is not installed.
fn run(script: &str, folder: &Folder) -> Option<String> {
    let path = folder.join("script.R");
    std::fs::write(&path, script).unwrap();
    let output = Command::new("Rscript").arg("--vanilla").arg(&path).output();
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            common::skip("Rscript is not installed");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    Some(text)
}

/// R's comparison: bits of doubles, attributes in order, compiled code and sources included; what
/// R has by reference is compared by what it holds.
const SAME: &str = r#"
setClass("TarePoint", representation(x = "numeric", label = "character", parent = "ANY"))
flat <- function(x) serialize(x, NULL, version = 2)
same <- function(a, b) identical(a, b, num.eq = FALSE, single.NA = FALSE,
  attrib.as.set = FALSE, ignore.bytecode = FALSE, ignore.environment = FALSE,
  ignore.srcref = FALSE) || identical(flat(a), flat(b))
check <- function(name, a, b) cat(if (isTRUE(same(a, b))) "same" else "differs", name, "\n")
"#;

/// All ways of writing a file, and what R is to be told of them.
fn ways() -> Vec<(String, WriteOptions)> {
    let mut ways = Vec::new();
    for version in [2, 3] {
        for encoding in [
            Encoding::Xdr,
            Encoding::Ascii,
            Encoding::AsciiHex,
            Encoding::Native,
        ] {
            for compressor in ["none", "gzip:6", "bz2:9", "xz:6"] {
                for members in [None, Some(1)] {
                    if members.is_some() && compressor != "gzip:6" {
                        continue;
                    }
                    let options = WriteOptions {
                        version: Some(version),
                        encoding: Some(encoding),
                        compressor: Some(Compressor::parse(compressor).unwrap()),
                        members,
                        ..WriteOptions::default()
                    };
                    ways.push((
                        format!("{version} {encoding:?} {compressor} {members:?}"),
                        options,
                    ));
                }
            }
        }
    }
    ways
}

#[test]
fn r_reads_every_object_in_all_versions_encodings_and_compressors() {
    let Some(files) = group("rds") else { return };
    let folder = Folder::new();
    let mut script = SAME.to_string();
    let ways = ways();
    assert_eq!(40, ways.len());
    let mut cases = 0;
    for (number, file) in files.iter().enumerate() {
        let source = file.text("encoding") == "xdr" && file.text("compression") == "none";
        // R's own text has 16 digits, and NaN and NA are all that it has of those.
        if !source || file.bytes.len() > 1_000_000 {
            continue;
        }
        let of_nan = ["dbl", "dbl_nan_payload", "integer64"].contains(&file.text("object"));
        let object = read(&file.bytes, &ReadOptions::default()).unwrap();
        let path = common::shared("fixtures").unwrap().join(&file.name);
        writeln!(script, "a <- readRDS({path:?})").unwrap();
        for (way, (name, options)) in ways.iter().enumerate() {
            let text = options.encoding == Some(Encoding::Ascii);
            let hex = options.encoding == Some(Encoding::AsciiHex);
            // A few ways of each object, so that all meet within the objects of each kind.
            if (way + number) % 8 != 0 || ((text || hex) && of_nan) {
                continue;
            }
            let path = folder.join(&format!("{number}.{way}.rds"));
            let mut bytes = Vec::new();
            write(&object, &mut bytes, options).unwrap();
            std::fs::write(&path, bytes).unwrap();
            let label = format!("{} {name}", file.name);
            if text {
                // 16 digits are not all: against R's own reading of its own 16.
                writeln!(script, "local({{ t <- rawConnection(serialize(a, NULL, ascii = TRUE)); on.exit(close(t)); check({label:?}, unserialize(t), readRDS({path:?})) }})").unwrap();
            } else {
                writeln!(script, "check({label:?}, a, readRDS({path:?}))").unwrap();
            }
            cases += 1;
        }
    }
    let Some(told) = run(&script, &folder) else {
        return;
    };
    let wrong: Vec<&str> = told
        .lines()
        .filter(|line| !line.starts_with("same "))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {cases}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(cases, told.lines().count());
    assert!(cases > 900, "{cases} cases");
    println!("{cases} files that R calls identical");
}

#[test]
fn r_loads_what_is_saved_here() {
    let Some(files) = group("rdata") else { return };
    let folder = Folder::new();
    let mut script = SAME.to_string();
    let mut cases = 0;
    for (number, file) in files.iter().enumerate() {
        let objects = read_rdata(&file.bytes, &ReadOptions::default()).unwrap();
        let theirs = common::shared("fixtures").unwrap().join(&file.name);
        for (way, (name, options)) in ways().iter().enumerate() {
            if options.encoding != Some(Encoding::Xdr) {
                continue;
            }
            let path = folder.join(&format!("{number}.{way}.RData"));
            let mut bytes = Vec::new();
            write_rdata(&objects, &mut bytes, options).unwrap();
            std::fs::write(&path, bytes).unwrap();
            let label = format!("{} {name}", file.name);
            writeln!(
                script,
                "a <- new.env(); b <- new.env(); load({theirs:?}, a); load({path:?}, b)"
            )
            .unwrap();
            writeln!(script, "check({label:?}, mget(sort(ls(a, all.names = TRUE)), a), mget(sort(ls(b, all.names = TRUE)), b))").unwrap();
            cases += 1;
        }
    }
    let Some(told) = run(&script, &folder) else {
        return;
    };
    let wrong: Vec<&str> = told
        .lines()
        .filter(|line| !line.starts_with("same "))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!((120, 120), (cases, told.lines().count()));
}
