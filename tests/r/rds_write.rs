//! Files written in other versions, encodings and compressors than they were read from.

use crate::common;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use common::rds_files::{difference, fixtures};
use tare::compress::{decompress, Compressor, ReadOptions as Plain};
use tare::robject::{
    rds, read, write, Body, Builder, Encoding, FindingKind, LossKind, RObject, ReadOptions,
    WriteOptions,
};
use tare::ErrorKind;

fn as_read(object: &RObject) -> WriteOptions {
    WriteOptions {
        encoding: Some(object.arena().header().encoding),
        ..WriteOptions::default()
    }
}

/// The bytes behind the header, which differ between versions.
fn body(plain: &[u8]) -> &[u8] {
    let version_3 = plain.get(5) == Some(&3);
    &plain[if version_3 { 23 } else { 14 }..]
}

/// Whether a deferred vector is anywhere in a serialization.
fn is_deferred(plain: &[u8]) -> bool {
    let classes = [&b"compact_"[..], b"deferred_string", b"wrap_"];
    let holds = |class: &&[u8]| plain.windows(class.len()).any(|part| part == *class);
    classes.iter().any(holds)
}

#[test]
fn versions_2_and_3_are_made_of_each_other() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let (mut same, mut expanded, mut wrong) = (0, 0, Vec::new());
    for (name, path) in fixtures(&folder) {
        let Some(object) = name.strip_suffix(".v3.xdr.none.rds") else {
            continue;
        };
        let other = folder.join(format!("{object}.v2.xdr.none.rds"));
        if !other.exists() {
            continue;
        }
        let (three, two) = (fs::read(path).unwrap(), fs::read(other).unwrap());
        let read_three = rds::parse(&three, &ReadOptions::default()).unwrap();
        let read_two = rds::parse(&two, &ReadOptions::default()).unwrap();
        let version = |version| WriteOptions {
            version: Some(version),
            ..WriteOptions::default()
        };
        let made_two = rds::serialize(&read_three, &version(2)).unwrap();
        wrong.extend(difference(&two, &made_two).map(|text| format!("{name} to v2: {text}")));
        let made_three = rds::serialize(&read_two, &version(3)).unwrap();
        if is_deferred(&three) {
            assert_eq!(body(&two), body(&made_three), "{name}");
            expanded += 1;
        } else {
            wrong.extend(difference(&three, &made_three).map(|text| format!("{name}: {text}")));
            same += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same >= 75 && expanded >= 10, "{same} and {expanded}");
}

#[test]
fn encodings_are_made_of_each_other() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, path) in fixtures(&folder) {
        let Some(object) = name.strip_suffix(".v3.xdr.none.rds") else {
            continue;
        };
        let parsed = rds::parse(&fs::read(path).unwrap(), &ReadOptions::default()).unwrap();
        for (ending, encoding) in [
            ("native", Encoding::Native),
            ("ascii", Encoding::Ascii),
            ("asciihex", Encoding::AsciiHex),
        ] {
            let other = folder.join(format!("{object}.v3.{ending}.none.rds"));
            let Ok(expected) = fs::read(other) else {
                continue;
            };
            let options = WriteOptions {
                encoding: Some(encoding),
                ..WriteOptions::default()
            };
            let got = rds::serialize(&parsed, &options).unwrap();
            count += 1;
            wrong.extend(
                difference(&expected, &got).map(|text| format!("{name} to {ending}: {text}")),
            );
        }
    }
    assert!(count > 200, "{count}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn table() -> RObject {
    let mut build = Builder::new();
    let noise = common::noise(3, 1 << 18);
    let ints = noise.iter().map(|b| i32::from(*b)).collect();
    let ints = build.push(Body::Integer(ints)).unwrap();
    let names: Vec<String> = noise.iter().map(|b| format!("N{}", b % 50)).collect();
    let texts = build.strings(names.iter().map(|name| &name[..])).unwrap();
    let list = build.push(Body::List(vec![ints, texts])).unwrap();
    build.finish(list)
}

#[test]
fn compressors_and_members_are_told_apart_and_threads_change_nothing() {
    let object = table();
    let plain = rds::serialize(&object, &WriteOptions::default()).unwrap();
    for id in ["none", "gzip:6", "bz2:9", "xz:1", "zstd:3"] {
        let mut files = Vec::new();
        for threads in [1, 2] {
            let options = WriteOptions {
                compressor: Some(Compressor::parse(id).unwrap()),
                threads: Some(threads),
                ..WriteOptions::default()
            };
            let mut file = Vec::new();
            let report = write(&object, &mut file, &options).unwrap();
            assert_eq!(file.len() as u64, report.bytes, "{id}");
            assert!(report.loss.is_empty());
            assert!(
                plain == decompress(&file, &Plain::default()).unwrap(),
                "{id}"
            );
            files.push(file);
        }
        assert!(files[0] == files[1], "{id}: threads change the bytes");
    }
    let members = |members| {
        let options = WriteOptions {
            members,
            ..WriteOptions::default()
        };
        let mut file = Vec::new();
        write(&object, &mut file, &options).map(|_| file)
    };
    let many = members(None).unwrap();
    let head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
    assert!(many.starts_with(head));
    assert!(many.windows(10).filter(|part| part == head).count() >= plain.len() >> 20);
    let one = members(Some(1)).unwrap();
    assert_eq!(1, one.windows(10).filter(|part| part == head).count());
    assert!(plain == decompress(&one, &Plain::default()).unwrap());
    assert_eq!(ErrorKind::Usage, members(Some(2)).unwrap_err().kind());
    let lz4 = WriteOptions {
        compressor: Some(Compressor::parse("lz4").unwrap()),
        ..WriteOptions::default()
    };
    let error = write(&object, &mut Vec::new(), &lz4).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
}

#[test]
fn data_only_leaves_code_out_and_says_so() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    for (name, kind) in [
        ("environment_promise", LossKind::PromiseOpaque),
        ("bytecode_closure", LossKind::CodeOpaque),
    ] {
        let file = folder.join(format!("{name}.v3.xdr.none.rds"));
        let object = read(&fs::read(file).unwrap(), &ReadOptions::default()).unwrap();
        let options = WriteOptions {
            data_only: true,
            ..as_read(&object)
        };
        let mut made = Vec::new();
        let report = write(&object, &mut made, &options).unwrap();
        assert!(
            report.loss.iter().any(|loss| loss.kind == kind),
            "{:?}",
            report.loss
        );
        let found = tare::robject::inspect(&made, &ReadOptions::default()).unwrap();
        let left: Vec<FindingKind> = found.findings.iter().map(|one| one.kind).collect();
        assert!(left.is_empty(), "{name}: {left:?}");
        let mut kept = Vec::new();
        let report = write(&object, &mut kept, &as_read(&object)).unwrap();
        assert!(report.loss.is_empty());
    }
}

/// A disk without room.
struct Full;

impl std::io::Write for Full {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("full"))
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_value_in_itself_is_refused_and_a_full_sink_is_an_error() {
    let mut build = Builder::new();
    let list = build.reserve().unwrap();
    build.fill(list, tare::robject::Node::new(Body::List(vec![list, list])));
    let error = rds::serialize(&build.finish(list), &WriteOptions::default()).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());

    for id in ["none", "gzip:1", "xz:0"] {
        let options = WriteOptions {
            compressor: Some(Compressor::parse(id).unwrap()),
            ..WriteOptions::default()
        };
        let error = write(&table(), Full, &options).unwrap_err();
        assert_eq!(ErrorKind::Io, error.kind(), "{id}: {error}");
    }
    let version = WriteOptions {
        version: Some(1),
        ..WriteOptions::default()
    };
    let error = rds::serialize(&table(), &version).unwrap_err();
    assert_eq!(ErrorKind::Usage, error.kind());
}

/// R itself reads what was written, and finds it identical to what it wrote.
#[test]
fn r_reads_every_version_encoding_and_compressor() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let place = std::env::temp_dir().join(format!("tare-rds-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let mut script = String::from("ok <- 0\n");
    for name in [
        "data_frame",
        "list_named",
        "chr_mixed_enc",
        "factor",
        "altrep_in_df",
        "dbl",
    ] {
        let original = folder.join(format!("{name}.v3.xdr.none.rds"));
        let Ok(plain) = fs::read(&original) else {
            continue;
        };
        let object = read(&plain, &ReadOptions::default()).unwrap();
        for version in [2, 3] {
            for encoding in [
                Encoding::Xdr,
                Encoding::Native,
                Encoding::Ascii,
                Encoding::AsciiHex,
            ] {
                // In decimal the largest double is one that R reads as infinite.
                if name == "dbl" && encoding == Encoding::Ascii {
                    continue;
                }
                for id in ["none", "gzip:6", "bz2:9", "xz:6"] {
                    let options = WriteOptions {
                        version: Some(version),
                        encoding: Some(encoding),
                        compressor: Some(Compressor::parse(id).unwrap()),
                        ..WriteOptions::default()
                    };
                    let kind = id.split(':').next().unwrap();
                    let file = place.join(format!("{name}-{version}-{encoding:?}-{kind}.rds"));
                    write(&object, fs::File::create(&file).unwrap(), &options).unwrap();
                    let line = |one: &Path| format!("readRDS('{}')", one.display());
                    writeln!(
                        script,
                        "stopifnot(isTRUE(all.equal(unclass({}), unclass({}), tolerance = 1e-14))); ok <- ok + 1",
                        line(&original),
                        line(&file)
                    )
                    .unwrap();
                }
            }
        }
    }
    script.push_str("cat(ok)\n");
    let done = common::tool("Rscript", &["--vanilla", "-"], script.as_bytes());
    fs::remove_dir_all(&place).unwrap();
    if let Some(done) = done {
        let count: u32 = String::from_utf8(done).unwrap().trim().parse().unwrap();
        assert!(count >= 96, "{count}");
    }
}
