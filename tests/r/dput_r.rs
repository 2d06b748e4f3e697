//! R reads from the code that is written what it reads from the file that it was written of.

use std::fmt::Write;

use tare::robject::{dput, rds, ReadOptions};
use tare::ErrorKind;

use crate::common;
use crate::r_files;

use common::folder::Folder;
use common::tool;
use r_files::group;

/// Compares by bits but for those of NaN; the order of attributes says nothing in R.
const SCRIPT: &str = r#"
Sys.setlocale("LC_ALL", "C.UTF-8")
for (line in readLines(file("stdin"))) {
  pair <- strsplit(line, "\t")[[1]]
  made <- tryCatch(dget(pair[1], keep.source = FALSE), error = function(e) conditionMessage(e))
  if (!identical(made, readRDS(pair[2]), num.eq = FALSE)) cat(pair[1], "\n")
}
cat("done\n")
"#;

#[test]
fn r_reads_the_same_value_from_the_code() {
    let (Some(files), Some(shared)) = (group("rds"), common::shared("fixtures")) else {
        return;
    };
    let folder = Folder::new();
    let script = folder.path().join("script.R");
    std::fs::write(&script, SCRIPT).unwrap();
    let (mut lines, mut count, mut refused) = (String::new(), 0, 0);
    for file in files {
        let text = |key| file.text(key);
        if text("encoding") != "xdr" || text("compression") != "none" {
            continue;
        }
        let object = rds::parse(&file.bytes, &ReadOptions::default()).unwrap();
        let (code, losses) = match dput::write(&object) {
            Ok(made) => made,
            Err(error) => {
                let kinds = [ErrorKind::Unsupported, ErrorKind::Limit];
                assert!(kinds.contains(&error.kind()), "{}: {error}", file.name);
                refused += 1;
                continue;
            }
        };
        if !losses.is_empty() {
            continue;
        }
        let path = folder.path().join(format!("{count}-{}.R", text("object")));
        std::fs::write(&path, code).unwrap();
        let original = shared.join(&file.name);
        writeln!(lines, "{}\t{}", path.display(), original.display()).unwrap();
        count += 1;
    }
    assert!(
        count > 100 && refused > 20,
        "{count} written, {refused} refused"
    );
    let Some(said) = tool("Rscript", &[script.to_str().unwrap()], lines.as_bytes()) else {
        return;
    };
    let said = String::from_utf8(said).unwrap();
    let said = said.lines().filter(|line| !line.starts_with("[1]"));
    assert_eq!(vec!["done"], said.collect::<Vec<_>>());
}
