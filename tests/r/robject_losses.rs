//! What a conversion to Arrow says of each kind of value that R has: the rows of the guide's table.

use crate::common;

use tare::robject::arrow::{to_arrow, ToArrow};
use tare::robject::{rds, ReadOptions};

/// R's code, whether missing doubles are to be NaN, and the kinds of losses; information in
/// brackets, `refused` for what Arrow has no type for.
const ROWS: &[(&str, bool, &str)] = &[
    ("c(TRUE, NA)", false, ""),
    ("c(1L, NA)", false, ""),
    ("c(1, NA, NaN, Inf, -0)", false, ""),
    ("c(1, NA, NaN)", true, "na_to_nan"),
    ("data.frame(x = c(1, NA))", true, "na_to_nan"),
    ("c('a', NA, 'NA')", false, ""),
    (
        "x <- 'fa\\xe7ile'; Encoding(x) <- 'latin1'; x",
        false,
        "encoding_changed",
    ),
    (
        "x <- 'a\\xff'; Encoding(x) <- 'bytes'; x",
        false,
        "bytes_string",
    ),
    (
        "x <- 'fa\\xe7ile'; Encoding(x) <- 'latin1'; data.frame(x = x)",
        false,
        "encoding_changed",
    ),
    ("factor(c('a', 'b', NA))", false, ""),
    ("factor(c('a', NA), exclude = NULL)", false, "identity_lost"),
    (
        "structure(c(1L, 5L), levels = c('a', 'b'), class = 'factor')",
        false,
        "value_dropped",
    ),
    ("as.Date(c('2020-01-01', NA))", false, ""),
    (
        "structure(c(0.5, NaN), class = 'Date')",
        false,
        "class_dropped",
    ),
    ("structure(c(1, NaN), class = 'Date')", false, "nan_payload"),
    ("as.POSIXct('2020-01-01', tz = 'UTC')", false, ""),
    (
        "structure(2^-60, class = c('POSIXct', 'POSIXt'), tzone = 'UTC')",
        false,
        "precision",
    ),
    (
        "structure(Inf, class = c('POSIXct', 'POSIXt'), tzone = 'UTC')",
        false,
        "value_dropped",
    ),
    ("as.difftime(90, units = 'mins')", false, "units_changed"),
    ("data.frame(x = as.difftime(90, units = 'mins'))", false, ""),
    ("structure(1:3, label = 'x')", false, "attribute_dropped"),
    (
        "data.frame(x = structure(c(1L, 3L), label = 'x'))",
        false,
        "",
    ),
    ("structure(c(1L, 3L), class = 'my')", false, "class_dropped"),
    (
        "x <- data.frame(x = c(1L, 3L)); class(x$x) <- 'my'; x",
        false,
        "",
    ),
    ("c(a = 1)", false, "attribute_dropped"),
    ("matrix(c(1L, 3L, 5L, 7L), 2)", false, "attribute_dropped"),
    ("data.frame(x = 1, row.names = 'first')", false, ""),
    (
        "list(data.frame(x = 1, row.names = 'first'))",
        false,
        "row_names_dropped",
    ),
    (
        "structure(data.frame(x = 1), f = function(x) x)",
        false,
        "code_opaque",
    ),
    (
        "x <- data.frame(id = 1:2); x$l <- list(1, 'a'); x",
        false,
        "[altrep_expanded] code_opaque",
    ),
    (
        "x <- data.frame(id = c(1L, 3L)); x$l <- list(1L, 2.5); x",
        false,
        "[type_changed] identity_lost",
    ),
    (
        "x <- data.frame(id = c(1L, 3L)); x$l <- list(NA, 'a'); x",
        false,
        "identity_lost",
    ),
    (
        "x <- data.frame(id = c(1L, 3L)); x$l <- list(factor('a'), factor('b')); x",
        false,
        "identity_lost",
    ),
    (
        "x <- data.frame(id = c(1L, 3L)); x$l <- list(factor('a'), factor(NA, 'a')); x",
        false,
        "",
    ),
    (
        "x <- data.frame(id = c(1L, 3L)); x$l <- list(c(1L, NA), NULL); x",
        false,
        "",
    ),
    (
        "x <- data.frame(a = c(1L, 3L), b = c(3L, 1L)); names(x)[2] <- NA; x",
        false,
        "duplicate_names",
    ),
    ("1:10", false, "[altrep_expanded]"),
    ("list(structure(1, note = 'x'))", false, "attribute_dropped"),
    ("function(x) x", false, "refused"),
    ("new.env()", false, "refused"),
    ("quote(a + b)", false, "refused"),
    ("list(1, 'a', NULL, sum)", false, "refused"),
    ("as.name('x')", false, "refused"),
];

#[test]
fn every_loss_is_told_and_nothing_else_is() {
    let codes: Vec<&str> = ROWS.iter().map(|row| row.0).collect();
    let code = format!(
        "x <- list({{ {} }}); con <- pipe('cat', 'wb'); writeBin(serialize(x, NULL), con); close(con)",
        codes.join(" }, { ")
    );
    let Some(plain) = common::tool("Rscript", &["--vanilla", "-e", &code], b"") else {
        return;
    };
    let all = rds::parse(&plain, &ReadOptions::default()).unwrap();
    let mut wrong = Vec::new();
    for (at, (code, nan, expected)) in ROWS.iter().enumerate() {
        let options = ToArrow {
            nan: *nan,
            ..ToArrow::default()
        };
        let told = match to_arrow(&all.child(at).unwrap(), &options) {
            Ok((_, losses)) => {
                let kinds = losses.list().iter().map(|loss| {
                    if loss.kind.is_information() {
                        format!("[{}]", loss.kind)
                    } else {
                        loss.kind.to_string()
                    }
                });
                kinds.collect::<Vec<_>>().join(" ")
            }
            Err(error) => {
                assert_eq!(
                    tare::ErrorKind::Unsupported,
                    error.kind(),
                    "{code}: {error}"
                );
                "refused".to_string()
            }
        };
        if told != *expected {
            wrong.push(format!("{code}: {told:?} is told, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
