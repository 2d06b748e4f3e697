//! The canonical form of R's values: one for all that R calls identical, whatever file they came from.

use crate::common;
use crate::r_files;
use crate::r_tree;

use std::collections::BTreeMap;
use std::process::Command;

use proptest::prelude::*;
use tare::robject::{canonical_bytes, rds, read, RObject, ReadOptions};

use common::folder::Folder;
use common::soak;

fn canonical(object: &RObject) -> Vec<u8> {
    let mut bytes = Vec::new();
    canonical_bytes(object, |part| bytes.extend_from_slice(part)).unwrap();
    bytes
}

fn parsed(bytes: &[u8]) -> RObject {
    rds::parse(bytes, &ReadOptions::default()).unwrap()
}

#[test]
fn every_fixture_has_one_form_in_all_versions_encodings_and_compressors() {
    let Some(files) = r_files::group("rds") else {
        return;
    };
    let mut forms: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut compared = 0;
    for file in &files {
        let name = file.text("object").to_string();
        // Its values alone take gigabytes; R's own text has 16 digits of a double.
        if name == "altrep_compact_realseq_3e9" || file.text("encoding") == "ascii" {
            continue;
        }
        let object = read(&file.bytes, &ReadOptions::default()).unwrap();
        let form = canonical(&object);
        let again = parsed(&form);
        assert_eq!(form, canonical(&again), "{}: not its own form", file.name);
        if let Some(known) = forms.get(&name) {
            assert!(*known == form, "{}: another form", file.name);
            compared += 1;
        } else {
            // Compiled code is what it was made from; environments have lost their hash tables.
            let by_value = ![
                "bytecode_closure",
                "lm",
                "closure",
                "environment_cycle",
                "environment_empty",
                "environment_locked",
                "environment_promise",
                "env_shared_twice",
                "formula",
            ]
            .contains(&name.as_str());
            if by_value {
                assert!(
                    object.identical(&again).unwrap(),
                    "{}: another value",
                    file.name
                );
            }
            forms.insert(name, form);
        }
    }
    assert!(forms.len() > 100, "{}", forms.len());
    assert!(compared > 600, "{compared}");
    // What R calls identical although the bytes differ, and what it does not.
    let same = |a: &str, b: &str| forms[a] == forms[b];
    assert!(!same("int", "dbl") && !same("list", "list_named"));
}

/// Pairs that `identical()` says to be the same though their serializations differ; `compiled` ones have
/// to be asked without their code.
const PAIRS: &str = r#"
out <- commandArgs(TRUE)[1]
pairs <- list()
add <- function(name, a, b, same = TRUE) {
  ok <- identical(a, b, ignore.srcref = TRUE, ignore.bytecode = TRUE)
  stopifnot(identical(ok, same))
  pairs[[name]] <<- list(a, b)
  for (v in 2:3) {
    saveRDS(a, file.path(out, paste(name, "a", v, if (same) "same" else "other", "rds", sep = ".")), version = v)
    saveRDS(b, file.path(out, paste(name, "b", v, if (same) "same" else "other", "rds", sep = ".")), version = v)
  }
}
grown <- list(); for (i in 1:20) grown[[i]] <- i
add("grown", grown, lapply(1:20, function(i) i))
df <- data.frame(x = 1:3, y = letters[1:3]); df2 <- df; df2$z <- 1; df2$z <- NULL
add("dropped_column", df, df2)
a <- structure(1:3, one = 1, two = 2); b <- structure(1:3, two = 2, one = 1)
add("attribute_order", a, b)
add("nan_sign", c(1, NaN), c(1, -NaN))
payload <- function(bytes) readBin(as.raw(bytes), "double", 1, endian = "big")
add("na_payload", c(NA_real_), payload(c(0xff, 0xf8, 0, 0, 0, 0, 0x07, 0xa2)))
add("nan_payload", NaN, payload(c(0x7f, 0xf8, 0, 0, 0, 0, 0, 1)))
add("na_and_nan", NA_real_, NaN, FALSE)
add("zeros", c(0, 1), c(-0, 1))
add("complex_zeros", complex(real = 0, imaginary = NaN), complex(real = -0, imaginary = -NaN))
latin <- "caf\xe9"; Encoding(latin) <- "latin1"
add("encodings", enc2utf8(latin), latin)
add("symbols", as.name(enc2utf8(latin)), as.name(latin))
raw_text <- "caf\xe9"; Encoding(raw_text) <- "bytes"
add("bytes", raw_text, enc2utf8(latin), FALSE)
add("compact", 1:1000, as.integer(c(1:999, 1000L)))
add("compact_double", as.numeric(1:1000), c(1:999, 1000) + 0)
s <- sort(c(3L, 1L, 2L)); add("wrapped", s, c(1L, 2L, 3L))
add("deferred", as.character(1:50), c(as.character(1:49), "50"))
plain <- function(x) x + 1
compiled <- compiler::cmpfun(plain)
add("compiled", plain, compiled)
deep <- function(x, y = c(1, 2)) { z <- function(u) u * x; for (i in y) if (i > 1) x <- z(i) else next; x }
add("compiled_deep", deep, compiler::cmpfun(deep))
run <- eval(parse(text = "function(x) { y <- x; y * 2 }", keep.source = FALSE)); fresh <- eval(parse(text = "function(x) { y <- x; y * 2 }", keep.source = FALSE))
for (i in 1:5) run(i)
add("jit", run, fresh)
one <- eval(parse(text = "function(x) {\n  x\n}", keep.source = TRUE))
two <- eval(parse(text = "function(x)   {  x  }", keep.source = TRUE))
add("source", one, two)
add("no_source", one, eval(parse(text = "function(x) { x }", keep.source = FALSE)))
add("functions", plain, function(x) x + 2, FALSE)
auto <- data.frame(x = 1:4); full <- auto; attr(full, "row.names") <- 1:4
add("row_names", auto, full)
add("row_names_text", auto, data.frame(x = 1:4, row.names = c("1", "2", "3", "4")), FALSE)
add("one_more", 1:3, 1:4, FALSE)
add("type", 1L, 1, FALSE)
add("names", c(a = 1), c(b = 1), FALSE)
add("factor", factor(c("u", "v")), structure(1:2, class = "factor", levels = c("u", "v")))
setClass("P", representation(x = "numeric", y = "character"))
add("s4", new("P", x = 1, y = "a"), new("P", y = "a", x = 1))
add("call", quote(f(x, y = 2)), quote(f(x,   y = 2)))
add("formula", y ~ x + 1, y ~   x + 1)
cat(length(pairs), "\n")
"#;

type Forms = BTreeMap<(String, bool), Vec<(String, Vec<u8>)>>;

#[test]
fn fault_10_equal_values() {
    // What R calls identical has the same form, and what it does not has another.
    let folder = Folder::new();
    let script = folder.join("pairs.R");
    std::fs::write(&script, PAIRS).unwrap();
    let ran = Command::new("Rscript")
        .arg("--vanilla")
        .arg(&script)
        .arg(folder.path())
        .output();
    let Ok(ran) = ran else {
        common::skip("Rscript is not installed");
        return;
    };
    let errors = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{errors}");
    // Of each pair and verdict, the forms of both sides.
    let mut forms = Forms::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let parts: Vec<&str> = name.split('.').collect();
        let [pair, side, _, verdict, "rds"] = parts[..] else {
            continue;
        };
        let bytes = std::fs::read(&path).unwrap();
        let form = canonical(&read(&bytes, &ReadOptions::default()).unwrap());
        let key = (pair.to_string(), verdict == "same");
        forms.entry(key).or_default().push((side.to_string(), form));
    }
    let mut faults = Vec::new();
    for ((name, same), found) in &forms {
        assert_eq!(4, found.len(), "{name}");
        for (side, form) in found {
            let (first, expected) = &found[0];
            let alike = form == expected;
            if alike != (*same || side == first) {
                faults.push(format!("{name}: {first} and {side}"));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
    assert_eq!(31, forms.len());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak::scaled(40, 2000),
        max_global_rejects: soak::scaled(1024, 10_000), // five of seven are assumed away
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_form_is_its_own_form_and_the_same_value(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let object = r_tree::tree(&bytes, r_tree::Kinds::All);
        let mut form = Vec::new();
        // Compiled code of the random may be made from itself.
        let made = canonical_bytes(&object, |part| form.extend_from_slice(part));
        prop_assume!(!made.is_err_and(|error| error.kind() == tare::ErrorKind::Usage));
        let again = parsed(&form);
        prop_assert_eq!(&form, &canonical(&again));
    }
}
