//! Files made to harm: an error or a right answer, in little memory, no path opened, nothing run.
//!
//! All of it runs in a child that the system gives 1 GiB of addresses.

#![cfg(target_os = "linux")]

use crate::child;
use crate::common;
use crate::r_xdr;

use std::time::{Duration, Instant};

use tare::robject::arrow::{to_arrow, ToArrow};
use tare::robject::{self, Body, Kind, RObject, ReadOptions, WriteOptions};
use tare::ErrorKind;

use child::in_a_gibibyte;
use r_xdr::Xdr;

#[test]
fn hostile_files_end_in_an_error_or_an_answer_within_a_gibibyte() {
    let name = "robject_hostile::hostile_files_end_in_an_error_or_an_answer_within_a_gibibyte";
    if let Some(said) = in_a_gibibyte(name, all) {
        assert!(said.contains("cases in the child: 43"), "{said}");
    }
}

fn all() {
    let mut count = 0;
    for (name, run) in CASES {
        let start = Instant::now();
        run();
        let took = start.elapsed();
        println!("{name}: {took:?}");
        assert!(took < Duration::from_secs(60), "{name} took {took:?}");
        count += 1;
    }
    println!("cases in the child: {count}");
}

fn read(bytes: &[u8]) -> tare::Result<RObject> {
    robject::rds::parse(bytes, &ReadOptions::default())
}

/// The kind of the error, which names format and place.
fn refused(bytes: &[u8]) -> ErrorKind {
    let error = match read(bytes) {
        Ok(object) => panic!("was read: {:.200?}", object.node()),
        Err(error) => error,
    };
    assert_eq!(Some("rds"), error.format(), "{error}");
    assert!(error.offset().is_some(), "{error}");
    error.kind()
}

fn deep(options: &ReadOptions, levels: usize) -> tare::Result<RObject> {
    let mut xdr = Xdr::new();
    for _ in 0..levels {
        xdr.ints(&[19, 1]);
    }
    xdr.int(254);
    robject::rds::parse(&xdr.0, options)
}

const CASES: &[(&str, fn())] = &[
    ("lists nested 20,000 deep", || nested(20_000)),
    ("lists nested 200,000 deep", || nested(200_000)),
    ("lists nested 10 million deep", || {
        let error = deep(&ReadOptions::default(), 10_000_000).unwrap_err();
        assert_eq!(ErrorKind::Limit, error.kind());
        assert!(error.offset().is_some_and(|at| at < 100_000), "{error}");
    }),
    ("lists nested 1 million deep, as allowed", || {
        nested(1_000_000);
    }),
    ("9,999 lists are within the limit", || {
        deep(&ReadOptions::default(), 9_999).unwrap();
    }),
    ("calls nested 10 million deep in their first cell", || {
        let mut xdr = Xdr::new();
        for _ in 0..10_000_000 {
            xdr.int(6);
        }
        assert_eq!(ErrorKind::Limit, refused(&xdr.0));
    }),
    ("attributes of attributes, 10 million deep", || {
        let mut xdr = Xdr::new();
        for _ in 0..5_000_000 {
            xdr.ints(&[0x0202, 0x0202]);
        }
        assert_eq!(ErrorKind::Limit, refused(&xdr.0));
    }),
    (
        "closures nested 10 million deep in their environment",
        || {
            let mut xdr = Xdr::new();
            for _ in 0..10_000_000 {
                xdr.int(0x0403);
            }
            assert_eq!(ErrorKind::Limit, refused(&xdr.0));
        },
    ),
    ("environments nested 5 million deep", || {
        let mut xdr = Xdr::new();
        for _ in 0..5_000_000 {
            xdr.ints(&[4, 0]);
        }
        assert_eq!(ErrorKind::Limit, refused(&xdr.0));
    }),
    ("external pointers nested 10 million deep", || {
        let mut xdr = Xdr::new();
        for _ in 0..10_000_000 {
            xdr.int(22);
        }
        assert_eq!(ErrorKind::Limit, refused(&xdr.0));
    }),
    ("deferred vectors nested 10 million deep", || {
        let mut xdr = Xdr::new();
        for _ in 0..10_000_000 {
            xdr.int(238);
        }
        assert_eq!(ErrorKind::Limit, refused(&xdr.0));
    }),
    ("compiled code nested 5 million deep", || {
        let mut xdr = Xdr::new();
        xdr.int(21);
        for _ in 0..3_000_000 {
            xdr.ints(&[1, 13, 0, 1, 21]);
        }
        let kind = refused(&xdr.0);
        assert!(
            matches!(kind, ErrorKind::Limit | ErrorKind::Malformed),
            "{kind:?}"
        );
    }),
    ("pairs of compiled code nested 3 million deep", || {
        let mut xdr = Xdr::new();
        xdr.ints(&[21, 1, 13, 0, 1]);
        for _ in 0..3_000_000 {
            xdr.ints(&[6, 254]);
        }
        let kind = refused(&xdr.0);
        assert!(
            matches!(kind, ErrorKind::Limit | ErrorKind::Malformed),
            "{kind:?}"
        );
    }),
    ("a pairlist of a million cells is no nesting", || {
        let mut xdr = Xdr::new();
        for _ in 0..1_000_000 {
            xdr.ints(&[2, 254]);
        }
        xdr.int(254);
        let object = read(&xdr.0).unwrap();
        assert_eq!(1_000_000, object.arena().cells(object.id()).len());
        same_again(&object, &xdr.0);
    }),
    ("13 of 2^31 - 1", || truncated(&[13, i32::MAX])),
    ("14 of 10 with one", || {
        let mut xdr = Xdr::new();
        xdr.ints(&[14, 10]).double(1.0);
        assert_eq!(ErrorKind::Truncated, refused(&xdr.0));
    }),
    ("13 of -5", || malformed(&[13, -5])),
    ("CHARSXP of -7", || malformed(&[16, 1, 9, -7])),
    ("14 of 2^48", || truncated(&[14, -1, 65_536, 0])),
    ("14 of more than 2^48", || malformed(&[14, -1, 65_537, 0])),
    ("14 of negative high word", || malformed(&[14, -1, -1, 0])),
    ("19 of 2^31 - 1", || truncated(&[19, i32::MAX])),
    ("20 of 2^31 - 1", || truncated(&[20, i32::MAX])),
    ("16 of 2^31 - 1", || truncated(&[16, i32::MAX])),
    ("24 of 2^31 - 1", || truncated(&[24, i32::MAX])),
    ("15 of 2^31 - 1", || truncated(&[15, i32::MAX])),
    ("16 of 2^48", || truncated(&[16, -1, 65_536, 0])),
    ("19 of 2^48", || truncated(&[19, -1, 65_536, 0])),
    ("CHARSXP of 2^31 - 1", || truncated(&[16, 1, 9, i32::MAX])),
    ("reference 5 of none", || malformed(&[0x05ff])),
    ("reference 99 of none, in a word of its own", || {
        malformed(&[255, 99]);
    }),
    ("reference 0 and -1", || {
        malformed(&[255, 0]);
        malformed(&[255, -1]);
    }),
    ("type 77", || {
        let mut xdr = Xdr::new();
        assert_eq!(ErrorKind::Unsupported, refused(&xdr.int(77).0));
    }),
    ("namespaces of 2^31 - 1 names", || {
        truncated(&[249, 0, i32::MAX]);
    }),
    ("a table of 2^31 - 1 shared pairs", || {
        let kind = refused(&Xdr::new().ints(&[21, i32::MAX, 13, 0, i32::MAX]).0);
        assert!(
            matches!(kind, ErrorKind::Truncated | ErrorKind::Malformed),
            "{kind:?}"
        );
    }),
    ("an encoding of 2^31 - 1 bytes", || {
        let mut xdr = Xdr(b"X\n".to_vec());
        xdr.ints(&[3, 0x0004_0202, 0x0003_0500, i32::MAX]);
        let kind = refused(&xdr.0);
        assert!(
            matches!(kind, ErrorKind::Truncated | ErrorKind::Malformed),
            "{kind:?}"
        );
    }),
    (
        "a sequence of 10^13 stays deferred",
        sequence_of_ten_trillion,
    ),
    ("a vector mapped from a file is never opened", mapped),
    (
        "2.4 GB of a sequence are refused where memory is less",
        too_large_here,
    ),
    (
        "deferred strings of a sequence of 10^12",
        strings_of_a_trillion,
    ),
    ("sequences count together", together),
    ("references double 25 times", doubled),
    ("deferred vectors that double 40 times", wrapped),
];

fn nested(levels: usize) {
    let error = deep(&ReadOptions::default(), levels).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
    assert!(error.offset().is_some(), "{error}");
    let options = ReadOptions {
        max_depth: usize::MAX,
        ..ReadOptions::default()
    };
    let object = deep(&options, levels).unwrap();
    let mut xdr = Xdr::new();
    for _ in 0..levels {
        xdr.ints(&[19, 1]);
    }
    same_again(&object, &xdr.int(254).0);
}

fn same_again(object: &RObject, bytes: &[u8]) {
    let again = robject::rds::serialize(object, &WriteOptions::default()).unwrap();
    assert!(again == bytes, "written anew it differs");
}

fn truncated(ints: &[i32]) {
    assert_eq!(ErrorKind::Truncated, refused(&Xdr::new().ints(ints).0));
    let data = [0; 4096];
    let mut xdr = Xdr::new();
    xdr.ints(ints).0.extend_from_slice(&data);
    let kind = refused(&xdr.0);
    assert!(
        matches!(
            kind,
            ErrorKind::Truncated | ErrorKind::Unsupported | ErrorKind::Malformed
        ),
        "{kind:?}"
    );
}

fn malformed(ints: &[i32]) {
    let mut xdr = Xdr::new();
    xdr.ints(ints).0.extend_from_slice(&[0; 64]);
    assert_eq!(ErrorKind::Malformed, refused(&xdr.0));
}

fn sequence_of_ten_trillion() {
    for class in ["compact_intseq", "compact_realseq"] {
        let mut xdr = Xdr::new();
        xdr.altrep(
            class,
            if class == "compact_intseq" { 13 } else { 14 },
            |xdr| {
                xdr.ints(&[14, 3]).double(1e13).double(1.0).double(1.0);
            },
        );
        let object = read(&xdr.0).unwrap();
        let (arena, id) = (object.arena(), object.id());
        same_again(&object, &xdr.0);
        let kind = match class {
            "compact_intseq" => Kind::Integer,
            _ => Kind::Double,
        };
        assert_eq!(
            (kind, 10_000_000_000_000),
            (arena.kind(id), arena.length(id))
        );
        assert_eq!(ErrorKind::Limit, arena.data(id, None).unwrap_err().kind());
        let error = to_arrow(&object, &ToArrow::default()).unwrap_err();
        assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
    }
}

fn mapped() {
    let folder = common::folder::Folder::new();
    let path = folder.join("mapped");
    std::fs::write(&path, [1; 64]).unwrap();
    let accessed = || std::fs::metadata(&path).unwrap().accessed().unwrap();
    let before = accessed();
    for (class, code) in [("mmap_integer", 13), ("mmap_real", 14)] {
        let mut xdr = Xdr::new();
        xdr.altrep(class, code, |xdr| {
            xdr.ints(&[2, 16, 1]).char(path.to_str().unwrap());
            xdr.ints(&[2, 14, 2]).double(8.0).double(64.0);
            xdr.int(254);
        });
        let object = read(&xdr.0).unwrap();
        let (arena, id) = (object.arena(), object.id());
        same_again(&object, &xdr.0);
        match arena.data(id, None) {
            Ok(body) => assert!(matches!(body, Body::Altrep(_)), "{body:.100?}"),
            Err(error) => assert_eq!(ErrorKind::Unsupported, error.kind(), "{error}"),
        }
        let version_2 = WriteOptions {
            version: Some(2),
            ..WriteOptions::default()
        };
        let error = robject::rds::serialize(&object, &version_2).unwrap_err();
        assert_eq!(ErrorKind::Unsupported, error.kind(), "{error}");
    }
    assert_eq!(before, accessed(), "the file was read");
}

/// Environments inside each other, each named twice: 2^25 ways down, 25 environments.
fn doubled() {
    let mut xdr = Xdr::new();
    for level in 0..25 {
        // The environment, its enclosure, and a frame of two: the child, and the child again.
        xdr.ints(&[4, 0, 242, 0x0402]);
        match level {
            0 => xdr.symbol("a"),
            _ => xdr.int(0x02ff),
        };
    }
    xdr.ints(&[14, 1]).double(1.0);
    for level in (0..25).rev() {
        // Numbers: environment 1, symbol a 2, then environments from 3 on; b comes in between.
        if level == 24 {
            xdr.int(0x0402).symbol("b");
            xdr.ints(&[14, 1]).double(2.0);
        } else {
            let child = if level == 0 { 3 } else { level + 3 };
            xdr.ints(&[0x0402, 27 << 8 | 255, child << 8 | 255]);
        }
        xdr.ints(&[254, 254, 254]);
    }
    let object = read(&xdr.0).unwrap();
    same_again(&object, &xdr.0);
    assert!(object.arena().len() < 400, "{}", object.arena().len());
}

/// A list whose two elements are wrapped around the list before: shared in the file by nothing.
fn wrapped() {
    let mut xdr = Xdr::new();
    for _ in 0..9_000 {
        xdr.ints(&[238, 2]);
        xdr.symbol("wrap_list");
        xdr.int(2).symbol("base");
        xdr.ints(&[2, 13, 1, 19, 254, 2]);
    }
    let kind = refused(&xdr.0);
    assert!(
        matches!(kind, ErrorKind::Truncated | ErrorKind::Limit),
        "{kind:?}"
    );
}

/// A sequence of doubles.
fn realseq(xdr: &mut Xdr, length: f64) {
    xdr.altrep("compact_realseq", 14, |xdr| {
        xdr.ints(&[14, 3]).double(length).double(1.0).double(1.0);
    });
}

fn too_large_here() {
    let mut xdr = Xdr::new();
    realseq(&mut xdr, 3e8);
    let object = read(&xdr.0).unwrap();
    let error = object.arena().data(object.id(), None).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
    let version_2 = WriteOptions {
        version: Some(2),
        ..WriteOptions::default()
    };
    let error = robject::rds::serialize(&object, &version_2).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
}

fn strings_of_a_trillion() {
    let mut xdr = Xdr::new();
    xdr.altrep("deferred_string", 16, |xdr| {
        xdr.int(2);
        realseq(xdr, 1e12);
        xdr.ints(&[13, 1, 0]);
    });
    let object = read(&xdr.0).unwrap();
    let (arena, id) = (object.arena(), object.id());
    same_again(&object, &xdr.0);
    assert_eq!(
        (Kind::Character, 1_000_000_000_000),
        (arena.kind(id), arena.length(id))
    );
    let error = arena.data(id, None).unwrap_err();
    assert_eq!(ErrorKind::Limit, error.kind(), "{error}");
}

fn together() {
    let mut xdr = Xdr::new();
    xdr.ints(&[19, 100]);
    for _ in 0..100 {
        realseq(&mut xdr, 1e6);
    }
    let object = read(&xdr.0).unwrap();
    let arena = object.arena();
    let Body::List(items) = &object.node().body else {
        panic!("no list");
    };
    let budget = Some(40_000_000);
    let made = items
        .iter()
        .take_while(|id| arena.data(**id, budget).is_ok());
    assert_eq!(5, made.count());
}
