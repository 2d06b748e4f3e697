//! R's values, as R itself wrote them, as Arrow: types, values, losses, and back.

use crate::common;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, DurationMicrosecondType, Float64Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, TimeUnit};
use tare::robject::arrow::{
    from_arrow, from_batches, read_r_key, to_arrow, Arrowed, FromArrow, ToArrow,
};
use tare::robject::{
    rds, Body, Builder, Graft, Header, Id, Loss, LossKind, RObject, ReadOptions, Strings,
    TextEncoding,
};

/// What R's code makes, as R serializes it.
fn r(code: &str) -> Option<RObject> {
    let code = format!(
        "x <- {{ {code} }}; con <- pipe('cat', 'wb'); writeBin(serialize(x, NULL), con); close(con)"
    );
    let plain = common::tool("Rscript", &["--vanilla", "-e", &code], b"")?;
    Some(rds::parse(&plain, &ReadOptions::default()).unwrap())
}

fn arrow(object: &RObject) -> (Arrowed, Vec<Loss>) {
    let (made, losses) = to_arrow(object, &ToArrow::default()).unwrap();
    made.array.to_data().validate_full().unwrap();
    (made, losses.into_list())
}

/// Losses that are no information, as text.
fn lost(losses: &[Loss]) -> Vec<String> {
    let real = losses.iter().filter(|loss| !loss.kind.is_information());
    real.map(ToString::to_string).collect()
}

/// A column of a data frame of one column.
fn column(made: &Arrowed) -> ArrayRef {
    Arc::clone(made.array.as_struct().column(0))
}

/// That a data frame is the same after the way through Arrow, without a loss.
fn back(object: &RObject) -> Arrowed {
    let (made, losses) = arrow(object);
    assert_eq!(Vec::<String>::new(), lost(&losses));
    let options = FromArrow {
        strict: true,
        ..FromArrow::default()
    };
    let (again, _) = from_batches(&[made.batch().unwrap()], &options).unwrap();
    assert!(object.identical(&again).unwrap(), "{:?}", made.field);
    made
}

#[test]
fn columns_of_every_class_come_back_identical() {
    let frames = [
        "data.frame(t = as.POSIXct(c(0.5, NA, 1700000000.123456), origin = '1970-01-01', tz = 'Asia/Tokyo'))",
        "data.frame(t = structure(c(1L, NA), class = c('POSIXct', 'POSIXt')))",
        "data.frame(t = structure(c(1L, NA), class = c('POSIXct', 'POSIXt'), tzone = ''))",
        "data.frame(t = structure(c(1, NA), class = c('my', 'POSIXct', 'POSIXt'), tzone = c('', 'EST', 'EDT')))",
        "data.frame(d = as.difftime(c(1.5, NA, -3), units = 'hours'), w = as.difftime(1:3, units = 'weeks'))",
        "data.frame(h = structure(c(0, NA, 86399.5), units = 'secs', class = c('hms', 'difftime')))",
        "data.frame(h = structure(c(0, -1, 90000), units = 'secs', class = c('hms', 'difftime')))",
        "data.frame(d = as.Date(c('2020-02-29', NA)), i = structure(c(1L, NA), class = 'Date'), f = structure(c(0.5, NA), class = 'Date'))",
        "data.frame(f = factor(c('a', NA, 'b')), o = factor(c('x', 'y', 'x'), levels = c('y', 'x'), ordered = TRUE))",
        "data.frame(f = structure(1:2, levels = c('a', 'b'), class = c('mine', 'factor')))",
        "structure(list(i = structure(c(0, 4.9e-324, -0), class = 'integer64')), class = 'data.frame', row.names = c(NA, -3L))",
        "structure(list(n = structure(c(0, 4.9e-324), class = structure('nanotime', package = 'nanotime'), .S3Class = 'integer64')), class = 'data.frame', row.names = c(NA, -2L))",
        "x <- data.frame(id = 1:3); x$l <- list(1:2, NULL, integer()); x$s <- list('a', c('b', NA), NULL); x$r <- list(as.raw(1:3), raw(), NULL); x",
        "x <- data.frame(id = 1:2); x$m <- matrix(1:4, 2, dimnames = list(NULL, c('p', 'q'))); x$d <- matrix(c(1.5, NA, 3, 4, 5, 6), 2); x$s <- matrix(c('a', NA, 'c', 'd'), 2); x",
        "x <- data.frame(id = 1:2); x$df <- data.frame(p = 1:2, q = c('a', NA)); x",
        "x <- data.frame(id = 1:2); x$lt <- as.POSIXlt(c(0, 86400), origin = '1970-01-01', tz = 'UTC'); x",
        "x <- data.frame(id = 1:2); x$n <- list(list(a = 1, b = 'x'), list(a = c(2, 3), b = NULL)); x",
        "x <- data.frame(id = 1:2); x$n <- list(data.frame(a = 1:2), data.frame(a = 3L)); x",
        "x <- data.frame(id = 1:2); x$n <- list(as.Date('2020-01-01'), NULL); x",
        "data.frame(z = complex(real = c(1, NaN, 3), imaginary = c(-1, 0, Inf)), w = as.raw(0:2))",
        "data.frame(z = complex(real = c(NA, NA, NA, NA, NaN, 1), imaginary = c(NA, 0, NaN, 5, NA, NA)))",
        "data.frame(s = c('\\u00e4', '', NA), d = c(NaN, NA, -0), l = c(TRUE, NA, FALSE))",
        "structure(list(a = 1:2), class = c('tbl_df', 'tbl', 'data.frame'), row.names = c(NA, -2L))",
        "structure(list(a = structure(1:2, label = 'A', note = list(1, 'x'))), class = c('tbl_df', 'tbl', 'data.frame'), row.names = c(NA, -2L))",
        "structure(list(a = 1:2, a = 3:4), names = c('a', ''), class = 'data.frame', row.names = c(NA, -2L), extra = c(k = 1))",
        "data.frame(a = I(list(1, 2)))",
        "structure(list(x = structure(1:2, class = 'roman')), class = 'data.frame', row.names = c(NA, -2L))",
        "data.frame()",
        "data.frame(a = integer(), b = character(), c = factor(character()))",
        "data.frame(row.names = 1:3)",
        "mtcars",
        "data.frame(a = 1:3, row.names = c(30L, 10L, 20L))",
        "x <- data.frame(id = 1:2); x$df <- data.frame(p = 1:2, row.names = c('u', 'v')); x",
        "structure(list(a = 1:2), class = c('tbl_df', 'tbl', 'data.frame'), row.names = c('p', 'q'))",
        "data.frame(row.names = c('no', 'columns'))",
    ];
    // One run of R for all: each is an element of a list.
    let Some(objects) = r(&format!("list({{ {} }})", frames.join(" }, { "))) else {
        return;
    };
    for (at, code) in frames.iter().enumerate() {
        println!("{code}");
        back(&objects.child(at).unwrap());
    }
}

#[test]
fn names_of_rows_do_not_go_to_other_rows() {
    let Some(object) =
        r("data.frame(a = c(1.5, NA), f = factor(c('x', 'y')), row.names = c('p', 'q'))")
    else {
        return;
    };
    let batch = back(&object).batch().unwrap();
    let turned = [batch.slice(1, 1), batch.slice(0, 1)];
    let short = [batch.slice(0, 1)];
    let renamed = [batch.clone(), batch.clone()];
    for rows in [&turned[..], &short[..], &renamed[..]] {
        let (again, losses) = from_batches(rows, &FromArrow::default()).unwrap();
        let expected =
            ["@row.names: row_names_dropped: names of rows that are others now (2 values)"];
        assert_eq!(expected.map(String::from).to_vec(), lost(losses.list()));
        let names = again.arena().attribute(again.id(), "row.names").unwrap();
        assert_eq!(
            Some(&i32::MIN),
            again.arena().integers_of(names).unwrap().first()
        );
    }
    // One behind the other as they were.
    let whole = [batch.slice(0, 1), batch.slice(1, 1)];
    let (again, _) = from_batches(&whole, &FromArrow::default()).unwrap();
    assert!(object.identical(&again).unwrap());
    // Without metadata they are lost, and that is said.
    let plain = ToArrow {
        metadata: false,
        ..ToArrow::default()
    };
    let (_, losses) = to_arrow(&object, &plain).unwrap();
    let expected = ["@row.names: row_names_dropped: row names (2 values)"];
    assert_eq!(expected.map(String::from).to_vec(), lost(losses.list()));
}

#[test]
fn names_of_rows_fit_the_columns_that_are_wanted() {
    let Some(object) = r("data.frame(a = 1:2, b = 3:4, row.names = c('p', 'q'))") else {
        return;
    };
    let options = ToArrow {
        columns: Some(vec!["b".to_string()]),
        ..ToArrow::default()
    };
    let (made, losses) = to_arrow(&object, &options).unwrap();
    assert_eq!(Vec::<String>::new(), lost(losses.list()));
    let (again, losses) = from_batches(&[made.batch().unwrap()], &FromArrow::default()).unwrap();
    assert_eq!(Vec::<String>::new(), lost(losses.list()));
    assert_eq!(
        Some(vec![Some("p".to_string()), Some("q".to_string())]),
        again.attribute_texts("row.names")
    );
}

#[test]
fn a_vector_that_is_an_s4_object_stays_one() {
    let code = "n <- structure(c(0, 4.9e-324), class = structure('nanotime', package = 'nanotime'), .S3Class = 'integer64'); \
                structure(list(n = asS4(n)), class = 'data.frame', row.names = c(NA, -2L))";
    let Some(object) = r(code) else { return };
    let levels = |object: &RObject| object.get("n").unwrap().node().levels & 1 << 4;
    assert_eq!(1 << 4, levels(&object));
    let made = back(&object);
    let (again, _) = from_batches(&[made.batch().unwrap()], &FromArrow::default()).unwrap();
    assert_eq!(1 << 4, levels(&again));
    // The same bytes: nothing else was lost either.
    let plain =
        |object: &RObject| rds::serialize(object, &tare::robject::WriteOptions::default()).unwrap();
    assert!(plain(&object).len() == plain(&again).len());
}

#[test]
fn an_address_of_data_table_is_reported() {
    // R makes none without the package: the pointer is put in here.
    let mut build = Builder::new();
    let column = build.push(Body::Integer(vec![1])).unwrap();
    let frame = build.push(Body::List(vec![column])).unwrap();
    let (names, rows) = (
        build.strings(["a"]),
        build.push(Body::Integer(vec![i32::MIN, -1])),
    );
    let class = build.strings(["data.table", "data.frame"]).unwrap();
    let (protected, tag) = (Id::NULL, Id::NULL);
    let address = build.push(Body::ExternalPtr { protected, tag }).unwrap();
    let pairs = [
        ("names", names.unwrap()),
        ("row.names", rows.unwrap()),
        ("class", class),
        (".internal.selfref", address),
    ];
    build.set_attributes(frame, &pairs).unwrap();
    let object = build.finish(frame);
    let expected = "@.internal.selfref: address_dropped: address, which data.table makes anew";
    for metadata in [true, false] {
        let options = ToArrow {
            metadata,
            strict: metadata,
            ..ToArrow::default()
        };
        let (_, losses) = to_arrow(&object, &options).unwrap();
        let told: Vec<String> = losses.list().iter().map(ToString::to_string).collect();
        assert!(told.contains(&expected.to_string()), "{told:?}");
    }
    let (_, losses) = tare::robject::frame::to_fst(&object, false).unwrap();
    assert!(losses
        .list()
        .iter()
        .any(|loss| loss.to_string() == expected));
}

#[test]
fn times_choose_the_unit_that_keeps_them() {
    let Some(object) =
        r("data.frame(t = as.POSIXct(c(1700000000.5, NA), origin = '1970-01-01', tz = 'UTC'))")
    else {
        return;
    };
    let made = back(&object);
    let times = column(&made);
    assert_eq!(
        &DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        times.data_type()
    );
    let times = times.as_primitive::<TimestampMicrosecondType>();
    assert_eq!(
        (1_700_000_000_500_000, true),
        (times.value(0), times.is_null(1))
    );
    // A double near now has steps of 238 ns.
    let object =
        r("data.frame(t = as.POSIXct(1700000000 + 2^-22, origin = '1970-01-01', tz = 'UTC'))");
    let made = back(&object.unwrap());
    let nanos = column(&made);
    let nanos = nanos.as_primitive::<TimestampNanosecondType>();
    assert_eq!(1_700_000_000_000_000_238, nanos.value(0));
}

#[test]
fn what_no_unit_holds_is_counted() {
    let code = "data.frame(t = structure(c(2^-60, 1, Inf, 1e300), class = c('POSIXct', 'POSIXt'), tzone = 'UTC'))";
    let Some(object) = r(code) else { return };
    let (made, losses) = arrow(&object);
    let expected = [
        "$t: precision: parts of a second, kept us",
        "$t: value_dropped: infinite or beyond 64 bits, kept NA (2 values)",
    ];
    assert_eq!(expected.map(String::from).to_vec(), lost(&losses));
    assert_eq!(2, column(&made).null_count());
}

#[test]
fn a_length_of_time_alone_says_its_unit() {
    let Some(object) = r("as.difftime(c(90, 30), units = 'mins')") else {
        return;
    };
    let (made, losses) = arrow(&object);
    let lengths = made.array.as_primitive::<DurationMicrosecondType>();
    assert_eq!([5_400_000_000, 1_800_000_000], *lengths.values().as_ref());
    assert_eq!(
        vec![".: units_changed: mins, kept us (2 values)"],
        lost(&losses)
    );
}

#[test]
fn dates_and_integers64_have_the_values_of_r() {
    let Some(object) = r("data.frame(d = as.Date(c('2000-01-01', NA)))") else {
        return;
    };
    let made = back(&object);
    let days = column(&made);
    let days = days.as_primitive::<Date32Type>();
    assert_eq!((10_957, true), (days.value(0), days.is_null(1)));
    // 1 in 64 bits, and NA.
    let object =
        r("structure(list(i = structure(c(4.94065645841246544e-324, -0), class = 'integer64')), class = 'data.frame', row.names = c(NA, -2L))");
    let made = back(&object.unwrap());
    let longs = column(&made);
    let longs = longs.as_primitive::<Int64Type>();
    assert_eq!((1, true), (longs.value(0), longs.is_null(1)));
}

#[test]
fn na_is_missing_and_nan_is_not() {
    let Some(object) = r("c(1, NA, NaN)") else {
        return;
    };
    let (made, _) = arrow(&object);
    let values = made.array.as_primitive::<Float64Type>();
    assert!(values.is_null(1) && values.is_valid(2) && values.value(2).is_nan());
    let nan = ToArrow {
        nan: true,
        ..ToArrow::default()
    };
    let (made, losses) = to_arrow(&object, &nan).unwrap();
    assert_eq!(0, made.array.null_count());
    assert_eq!(vec![".: na_to_nan: NA, kept NaN"], lost(losses.list()));
}

#[test]
fn encodings_are_recoded_and_reported() {
    let mut strings = Strings::default();
    strings.push(b"\x80\xe4", TextEncoding::Latin1.levels());
    strings.push_na();
    strings.push("\u{e4}".as_bytes(), TextEncoding::Utf8.levels());
    let mut build = Builder::new();
    let id = build.push(Body::Character(Box::new(strings))).unwrap();
    let (made, losses) = arrow(&build.finish(id));
    let texts: Vec<_> = made.array.as_string::<i32>().iter().collect();
    assert_eq!(vec![Some("\u{20ac}\u{e4}"), None, Some("\u{e4}")], texts);
    assert_eq!(
        vec![".: encoding_changed: latin1 or native, kept UTF-8"],
        lost(&losses)
    );

    let mut strings = Strings::default();
    strings.push(b"\xff", TextEncoding::Bytes.levels());
    strings.push(b"a", TextEncoding::Ascii.levels());
    let mut build = Builder::new();
    let id = build.push(Body::Character(Box::new(strings))).unwrap();
    let (made, losses) = arrow(&build.finish(id));
    assert_eq!(&b"\xff"[..], made.array.as_binary::<i32>().value(0));
    assert_eq!(LossKind::BytesString, losses[0].kind);
}

#[test]
fn native_strings_follow_the_header() {
    let mut build = Builder::new();
    let mut strings = Strings::default();
    strings.push(b"\xe4", TextEncoding::Native.levels());
    let id = build.push(Body::Character(Box::new(strings))).unwrap();
    build.set_header(Header {
        native_encoding: Some(Box::from(&b"CP1251"[..])),
        ..Header::default()
    });
    let (made, _) = arrow(&build.finish(id));
    assert_eq!("\u{434}", made.array.as_string::<i32>().value(0));
}

#[test]
fn a_level_that_is_na_and_codes_without_a_level_are_reported() {
    let code = "data.frame(f = structure(c(1L, 2L, 3L, 9L, NA), levels = c('a', NA, 'b'), class = 'factor'))";
    let Some(object) = r(code) else { return };
    let (made, losses) = arrow(&object);
    let expected = [
        "$f: value_dropped: code without a level, kept NA",
        "$f: identity_lost: level NA, kept NA",
    ];
    assert_eq!(expected.map(String::from).to_vec(), lost(&losses));
    let factor = column(&made);
    let factor = factor.as_dictionary::<Int32Type>();
    let codes: Vec<_> = factor.keys().iter().collect();
    assert_eq!(vec![Some(0), None, Some(1), None, None], codes);
    assert_eq!(2, factor.values().len());
}

#[test]
fn numbers_and_texts_share_memory_with_the_object() {
    let mut build = Builder::new();
    let doubles = build.push(Body::Double(vec![1.0, 2.0])).unwrap();
    let integers = build.push(Body::Integer(vec![1, 2])).unwrap();
    let texts = build.strings(["one", "two"]).unwrap();
    let object = build.finish(doubles);
    let arena = object.arena();
    let Body::Double(values) = arena.data(doubles, None).unwrap() else {
        panic!()
    };
    let (made, _) = arrow(&object);
    let lent = made
        .array
        .as_primitive::<Float64Type>()
        .values()
        .inner()
        .as_ptr();
    assert_eq!(values.as_ptr().cast::<u8>(), lent);
    let Body::Integer(values) = arena.data(integers, None).unwrap() else {
        panic!()
    };
    let (made, _) = arrow(&object.at(integers));
    let lent = made
        .array
        .as_primitive::<Int32Type>()
        .values()
        .inner()
        .as_ptr();
    assert_eq!(values.as_ptr().cast::<u8>(), lent);
    let Body::Character(strings) = arena.data(texts, None).unwrap() else {
        panic!()
    };
    let (made, _) = arrow(&object.at(texts));
    let lent = made.array.as_string::<i32>().values().as_ptr();
    assert_eq!(strings.bytes().as_ptr(), lent);
    // The array keeps the arena.
    drop(object);
    assert_eq!("two", made.array.as_string::<i32>().value(1));
}

#[test]
fn the_key_is_byte_for_byte_what_r_writes() {
    let code = "x <- data.frame(a = 1:2, d = as.Date(c('2020-01-01', NA)), b = c('x', 'y')); \
                attr(x$a, 'label') <- 'A'; attr(x, 'made') <- list(by = 'us'); class(x) <- c('my', 'data.frame'); x";
    let Some(object) = r(code) else { return };
    let (made, _) = arrow(&object);
    let wanted = "list(attributes = list(class = c('my', 'data.frame'), made = list(by = 'us')), columns = list(\
                  a = list(attributes = list(label = 'A'), columns = NULL), d = NULL, b = NULL))";
    let code = format!("cat(rawToChar(serialize({wanted}, NULL, ascii = TRUE)))");
    let text = common::tool("Rscript", &["--vanilla", "-e", &code], b"").unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), made.field.metadata()["r"]);
}

#[test]
fn a_long_key_is_compressed_as_r_reads_it() {
    let code = "x <- data.frame(a = 1); attr(x, 'long') <- paste0('v', 1:30000); x";
    let Some(object) = r(code) else { return };
    let made = back(&object);
    let text = made.field.metadata()["r"].clone();
    assert!(text.len() < 300_000, "{} bytes", text.len());
    let code = "y <- unserialize(charToRaw(paste0(paste(readLines(file('stdin')), collapse = '\\n'), '\\n'))); \
                z <- unserialize(memDecompress(y, 'gzip')); \
                cat(is.raw(y), identical(z$attributes$long, paste0('v', 1:30000)), names(z))";
    let said = common::tool("Rscript", &["--vanilla", "-e", code], text.as_bytes()).unwrap();
    assert_eq!(
        "TRUE TRUE attributes columns",
        String::from_utf8(said).unwrap()
    );
}

#[test]
fn code_does_not_get_into_the_key() {
    let code =
        "x <- data.frame(a = 1); attr(x, 'f') <- function(x) x; attr(x, 'e') <- new.env(); x";
    let Some(object) = r(code) else { return };
    let (made, losses) = arrow(&object);
    let expected = [
        "@f: code_opaque: code, an environment or an address",
        "@e: code_opaque: code, an environment or an address",
    ];
    assert_eq!(expected.map(String::from).to_vec(), lost(&losses));
    let key = read_r_key(&made.field.metadata()["r"]).unwrap();
    assert!(key.get("attributes").unwrap().get("f").is_none());
}

#[test]
fn a_damaged_key_is_an_error() {
    let Some(object) = r("structure(data.frame(a = 1), note = 'x')") else {
        return;
    };
    let (made, _) = arrow(&object);
    let key = made.field.metadata()["r"].clone();
    for end in 0..key.trim_end().len() - 1 {
        assert!(read_r_key(&key[..end]).is_err(), "{end} of {}", key.len());
    }
}

#[test]
fn strict_ends_at_the_first_loss() {
    let Some(object) = r("data.frame(t = structure(1e300, class = c('POSIXct', 'POSIXt')))") else {
        return;
    };
    let strict = ToArrow {
        strict: true,
        ..ToArrow::default()
    };
    let error = to_arrow(&object, &strict).unwrap_err();
    assert!(error.to_string().contains("value_dropped"), "{error}");
}

#[test]
fn columns_that_are_wanted_alone_are_made() {
    let Some(object) = r("structure(data.frame(a = 1, b = 2L, c = 'x'), note = 1)") else {
        return;
    };
    let wanted = Some(vec!["c".to_string(), "a".to_string()]);
    let options = ToArrow {
        columns: wanted,
        ..ToArrow::default()
    };
    let (made, _) = to_arrow(&object, &options).unwrap();
    let names: Vec<_> = made.array.as_struct().column_names();
    assert_eq!(vec!["a", "c"], names);
}

#[test]
fn depth_is_an_error_and_not_a_crash() {
    let mut build = Builder::new();
    let mut id = build.push(Body::Integer(vec![1])).unwrap();
    for _ in 0..1_000_000 {
        id = build.push(Body::List(vec![id])).unwrap();
    }
    let object = build.finish(id);
    let error = to_arrow(&object, &ToArrow::default()).unwrap_err();
    assert_eq!(tare::ErrorKind::Limit, error.kind());
    assert!(object.identical(&object.clone()).unwrap());
    let mut build = Builder::new();
    let (copy, _) = build.graft(&object, Graft::Data).unwrap();
    assert!(object.identical(&build.finish(copy)).unwrap());
}

#[test]
fn shared_environments_are_compared_in_linear_time() {
    // Each holds the one before twice: 2^200 ways.
    let make = || {
        let mut build = Builder::new();
        let mut inner = Id::NULL;
        for _ in 0..200 {
            let frame = build.pairlist(&[("a", inner), ("b", inner)]).unwrap();
            let environment = Body::Environment {
                locked: 0,
                enclosure: Id::NULL,
                frame,
                hashtab: Id::NULL,
            };
            inner = build.push(environment).unwrap();
        }
        build.finish(inner)
    };
    let (one, two) = (make(), make());
    assert!(one.identical(&two).unwrap());
    let mut build = Builder::new();
    let (copy, _) = build.graft(&one, Graft::All).unwrap();
    let copied = build.finish(copy);
    assert!(copied.identical(&two).unwrap());
    assert!(copied.arena().len() <= one.arena().len() + 2);
}

#[test]
fn chunks_are_one_behind_the_other() {
    let Some(object) =
        r("data.frame(f = factor(c('a', 'b', 'a')), s = c('x', NA, 'y'), m = I(matrix(1:6, 3)))")
    else {
        return;
    };
    let (made, _) = arrow(&object);
    let whole = made.batch().unwrap();
    let parts = [whole.slice(0, 1), whole.slice(1, 2)];
    let (again, _) = from_batches(&parts, &FromArrow::default()).unwrap();
    assert!(object.identical(&again).unwrap());
}

#[test]
fn rows_that_a_struct_leaves_out_are_na() {
    use arrow_array::Int32Array;
    use arrow_buffer::NullBuffer;
    use arrow_schema::{Field, Fields};
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let values: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
    let nulls = Some(NullBuffer::from(vec![true, false]));
    let array: ArrayRef = Arc::new(StructArray::new(fields.clone(), vec![values], nulls));
    let field = Field::new("", DataType::Struct(fields), true);
    let (object, losses) = from_arrow(&field, &[array], &FromArrow::default()).unwrap();
    let a = object.get("a").unwrap();
    assert_eq!(Some(&[1, i32::MIN][..]), a.arena().integers_of(a.id()));
    assert_eq!(
        vec![".: identity_lost: missing row, kept a row of NA"],
        lost(losses.list())
    );
}

#[test]
fn the_order_of_a_data_table_goes_with_rows_that_are_others() {
    let code = "structure(list(k = c('a', 'b', 'c'), v = 1:3), row.names = c(NA, -3L), \
                class = c('data.table', 'data.frame'), sorted = 'k')";
    let Some(object) = r(code) else { return };
    let made = back(&object);
    let batch = made.batch().unwrap();
    let (fewer, losses) = from_batches(&[batch.slice(1, 2)], &FromArrow::default()).unwrap();
    let names: Vec<String> = fewer
        .attribute_list()
        .into_iter()
        .map(|pair| pair.0)
        .collect();
    assert!(!names.iter().any(|name| name == "sorted"), "{names:?}");
    assert!(names.iter().any(|name| name == "class"), "{names:?}");
    let told = lost(losses.list());
    assert_eq!(1, told.len(), "{told:?}");
    assert!(told[0].contains("@sorted"), "{told:?}");
}
