//! R itself over the folders of the driver storr: what one wrote the other reads, and both hash alike.

use crate::common;
use crate::r_files;
use crate::storr;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use tare::robject::{read, ReadOptions};
use tare::store::drivers::storr::{open, StorrOptions};
use tare::store::{Algorithm, Driver, Durability, Key};
use tare::store::{CheckLevel, OpenOptions, Store};

use common::folder::Folder;

/// Runs a script of R over a folder; None where R, or its package digest, is not installed.
fn run(script: &str, folder: &Folder, path: &std::path::Path) -> Option<String> {
    let file = folder.join("script.R");
    let script =
        format!("if (!requireNamespace('digest', quietly = TRUE)) quit(status = 42)\n{script}");
    std::fs::write(&file, script).unwrap();
    let ran = Command::new("Rscript")
        .arg("--vanilla")
        .arg(&file)
        .arg(path)
        .output();
    let Ok(ran) = ran else {
        common::skip("Rscript is not installed");
        return None;
    };
    if ran.status.code() == Some(42) {
        common::skip("R has no package digest");
        return None;
    }
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(
        ran.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    Some(text)
}

/// Reads every object of the store, hashes it again as storr does, and reads the fixture it came from.
const READ: &str = r#"
setClass("TarePoint", representation(x = "numeric", label = "character", parent = "ANY"))
path <- commandArgs(TRUE)[1]
algo <- readLines(file.path(path, "config/hash_algorithm"))
from <- readLines(file.path(path, "from"))
for (line in from) {
  part <- strsplit(line, "\t")[[1]]
  hash <- readLines(file.path(path, "keys/objects", part[1]))
  x <- readRDS(file.path(path, "data", paste0(hash, ".rds")))
  y <- readRDS(part[2])
  sx <- serialize(x, NULL, version = 2, xdr = TRUE)
  sy <- serialize(y, NULL, version = 2, xdr = TRUE)
  h <- digest::digest(sy, algo = algo, serialize = FALSE, skip = 14)
  h2 <- if (algo == "md5") digest::digest(sy[-(1:14)], algo = "md5", serialize = FALSE) else h
  cat(part[1], if (identical(sx, sy)) "same" else "DIFFERS", if (h == hash) "hash" else "OTHER", if (h2 == hash) "hash" else "OTHER", "\n")
}
"#;

#[test]
fn r_reads_every_object_and_gives_it_the_same_hash() {
    let Some(files) = r_files::group("rds") else {
        return;
    };
    let shared = common::shared("fixtures").unwrap();
    for (algorithm, compress) in [
        (Algorithm::Md5, true),
        (Algorithm::Sha1, false),
        (Algorithm::XxHash64, true),
    ] {
        let folder = Folder::new();
        let path = folder.join("s");
        let options = StorrOptions {
            hash_algorithm: Some(algorithm),
            compress: Some(compress),
            ..StorrOptions::default()
        };
        let driver = open(&path, &options).unwrap();
        let mut from = String::new();
        let (mut seen, mut written) = (BTreeSet::new(), 0);
        for file in &files {
            let object = file.text("object").to_string();
            let plain = file.text("encoding") == "xdr" && file.text("compression") == "none";
            // Its values alone take gigabytes.
            if !plain || object == "altrep_compact_realseq_3e9" {
                continue;
            }
            let key = format!("{object}.{}", file.entry["version"]);
            assert!(seen.insert(key.clone()), "{key}");
            let value = read(&file.bytes, &ReadOptions::default()).unwrap();
            storr::set(
                &driver,
                Key::from(&*key),
                &storr::plain_of(&value),
                Durability::None,
            )
            .unwrap();
            writeln!(from, "{key}\t{}", shared.join(&file.name).display()).unwrap();
            written += 1;
        }
        std::fs::write(path.join("from"), from).unwrap();
        let Some(text) = run(READ, &folder, &path) else {
            return;
        };
        let faults: Vec<&str> = text
            .lines()
            .filter(|line| {
                line.split(' ')
                    .skip(1)
                    .filter(|word| !word.is_empty())
                    .collect::<Vec<_>>()
                    != ["same", "hash", "hash"]
            })
            .collect();
        assert!(faults.is_empty(), "{algorithm:?}: {faults:#?}");
        assert_eq!(written, text.lines().count());
        assert_eq!(197, written);
    }
}

/// Writes a store as storr does, by base R: some hundred values of all sorts, in every way that R compresses.
const WRITE: &str = r#"
path <- commandArgs(TRUE)[1]
set.seed(7)
for (folder in c("config", "data", "keys/objects", "scratch")) dir.create(file.path(path, folder), recursive = TRUE)
put <- function(name, text) cat(text, "\n", sep = "", file = file.path(path, "config", name))
put("version", "1.2.6"); put("compress", "TRUE"); put("mangle_key", "FALSE")
put("mangle_key_pad", "FALSE"); put("hash_algorithm", "md5")
make <- list(
  function(n) rnorm(n), function(n) sample.int(1000L, n, TRUE), function(n) 1:n,
  function(n) as.character(1:n), function(n) sample(c(letters, NA, "caf\u00e9"), n, TRUE),
  function(n) runif(n) > 0.5, function(n) as.raw(sample(0:255, n, TRUE)),
  function(n) complex(real = rnorm(n), imaginary = rnorm(n)),
  function(n) data.frame(x = rnorm(n), y = sample(letters, n, TRUE), stringsAsFactors = n %% 2 == 0),
  function(n) factor(sample(letters, n, TRUE)), function(n) Sys.Date() + 1:n,
  function(n) lapply(1:n, function(i) i), function(n) as.list(setNames(1:n, paste0("k", 1:n))),
  function(n) matrix(rnorm(2 * n), 2, dimnames = list(c("a", "b"), NULL)),
  function(n) quote(f(x, y + 1)), function(n) y ~ x + z, function(n) sort(rnorm(n)),
  function(n) structure(list(n), class = "made"), function(n) as.POSIXct(1:n, origin = "1970-01-01", tz = "UTC"),
  function(n) array(1:8, c(2, 2, 2)))
opens <- list(gzfile, function(f, m) gzfile(f, m, compression = 1), bzfile, xzfile, file)
forms <- list(
  function(x) serialize(x, NULL, version = 2, xdr = TRUE),
  function(x) serialize(x, NULL, version = 3, xdr = TRUE),
  function(x) serialize(x, NULL, version = 2, xdr = FALSE))
count <- 0
for (m in seq_along(make)) for (n in c(1, 3, 40, 999)) {
  x <- make[[m]](n)
  hash <- digest::digest(serialize(x, NULL, version = 2)[-(1:14)], algo = "md5", serialize = FALSE)
  count <- count + 1
  f <- file.path(path, "data", paste0(hash, ".rds"))
  con <- opens[[1 + count %% 5]](f, "wb")
  writeBin(forms[[1 + count %% 3]](x), con)
  close(con)
  cat(hash, "\n", sep = "", file = file.path(path, "keys/objects", paste0("k", count)))
}
cat(count, "\n")
"#;

#[test]
fn what_r_wrote_in_any_form_is_read_and_verified() {
    let folder = Folder::new();
    let path = folder.join("s");
    let Some(text) = run(WRITE, &folder, &path) else {
        return;
    };
    let count: usize = text.trim().parse().unwrap();
    assert_eq!(80, count);
    let store = Store::open(path.to_str().unwrap(), &OpenOptions::default()).unwrap();
    assert_eq!("storr", store.info().driver);
    let listed: Vec<_> = store.keys("objects", "").map(Result::unwrap).collect();
    assert_eq!(count, listed.len());
    let copy = open(folder.join("copy"), &StorrOptions::default()).unwrap();
    for entry in &listed {
        let key = Key::from(&*entry.key);
        let plain = store.get(key).unwrap().bytes().unwrap();
        let mut stream = store.get(key).unwrap().reader().unwrap();
        let mut again = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut again).unwrap();
        assert_eq!(&plain[..], again);
        // Whatever its form was: set here it has R's own hash.
        let ours = storr::plain_of(&storr::object(&plain));
        let hash = storr::set(&copy, key, &ours, Durability::None).unwrap();
        assert_eq!(entry.record.hash, hash, "{}", entry.key);
    }
    let report = store.check(CheckLevel::Full, &mut |_| true).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    // A value of another hash in another form is damaged as any other.
    let (one, two) = (&listed[0].record.hash, &listed[1].record.hash);
    let file = |hash: &tare::store::Hash| path.join(format!("data/{hash}.rds"));
    std::fs::copy(file(two), file(one)).unwrap();
    let report = store.check(CheckLevel::Full, &mut |_| true).unwrap();
    assert_eq!(1, report.findings.len());
    assert!(store.get_object(one).unwrap().bytes().is_err());
}

/// Sets and overwrites keys as storr does: the old file is deleted before the new one is renamed.
const RACE: &str = r#"
path <- commandArgs(TRUE)[1]
hash <- function(x) digest::digest(serialize(x, NULL, version = 2)[-(1:14)], algo = "md5", serialize = FALSE)
key <- file.path(path, "keys/objects/k")
hashes <- character()
for (i in 1:4) {
  hashes[i] <- hash(i)
  con <- gzfile(file.path(path, "data", paste0(hashes[i], ".rds")), "wb")
  writeBin(serialize(i, NULL, version = 2), con); close(con)
}
end <- Sys.time() + 2; n <- 0
while (Sys.time() < end) {
  n <- n + 1
  temp <- file.path(path, "scratch", paste0("file", n))
  writeLines(hashes[1 + n %% 4], temp)
  if (file.exists(key)) file.remove(key)
  file.rename(temp, key)
}
cat(n, "\n")
"#;

#[test]
fn a_key_that_r_is_just_renaming_is_looked_for_once_more() {
    let folder = Folder::new();
    let path = folder.join("s");
    let driver = open(&path, &StorrOptions::default()).unwrap();
    let first = storr::plain_of(&storr::object(b"A\n2\n262658\n131840\n14\n1\n1\n"));
    storr::set(&driver, Key::from("k"), &first, Durability::None).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    let (mut reads, mut misses) = (0_u32, 0_u32);
    let text = std::thread::scope(|scope| {
        let r = scope.spawn(|| {
            let text = run(RACE, &folder, &path);
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            text
        });
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            match driver.get_keys(&[Key::from("k")]).unwrap()[0] {
                Some(_) => reads += 1,
                None => misses += 1,
            }
        }
        r.join().unwrap()
    });
    if text.is_none() {
        return;
    }
    // Only where R was stopped between the two for longer than a millisecond, as on busy machines.
    assert!(
        reads > 1000 && u64::from(misses) * 100 < u64::from(reads),
        "{misses} misses of {reads}"
    );
}
