//! Hostile input: an error of the right kind, or a right answer, in little memory.

use crate::common;
#[cfg(unix)]
use crate::cpu::{grows_linearly, least_time};

use std::fs;

use common::rds_files::fixtures;
use common::soak::{self, Sample};
use tare::compress::{decompress, ReadOptions as Plain};
use tare::robject::arrow::{to_arrow, ToArrow};
use tare::robject::{dput, qdata, qs2, rdata, rds, read, Body, ReadOptions, Source, WriteOptions};
use tare::ErrorKind;

/// `X\n`, version 3, and these ints.
fn xdr(ints: &[i32]) -> Vec<u8> {
    let mut plain = b"X\n".to_vec();
    let head = [3, 0x4_0202, 0x3_0500, 5];
    let bytes = |ints: &[i32]| -> Vec<u8> {
        let each = ints.iter().map(|int| int.swap_bytes().to_le_bytes());
        each.flatten().collect()
    };
    plain.extend(bytes(&head));
    plain.extend(b"UTF-8");
    plain.extend(bytes(ints));
    plain
}

/// The kind of error, the same from a slice and from a stream.
fn kind(plain: &[u8]) -> ErrorKind {
    let options = ReadOptions::default();
    let error = rds::parse(plain, &options).unwrap_err();
    assert!(
        error.offset().is_some() || error.kind() == ErrorKind::Limit,
        "{error}"
    );
    let drip = Source::stream(common::Drip::new(plain, 1000));
    let streamed = read(drip, &options).unwrap_err();
    assert_eq!(error.kind(), streamed.kind(), "{error} and {streamed}");
    error.kind()
}

fn nested(depth: usize) -> Vec<u8> {
    let mut ints = [19, 1].repeat(depth);
    ints.push(254);
    xdr(&ints)
}

#[test]
fn nesting_ends_at_the_limit_and_needs_no_stack_of_the_thread() {
    assert!(rds::parse(&nested(10_000), &ReadOptions::default()).is_ok());
    assert_eq!(ErrorKind::Limit, kind(&nested(10_001)));
    assert_eq!(ErrorKind::Limit, kind(&nested(200_000)));
    let deep = nested(1_000_000);
    let options = ReadOptions {
        max_depth: usize::MAX,
        ..ReadOptions::default()
    };
    let object = rds::parse(&deep, &options).unwrap();
    assert!(deep == rds::serialize(&object, &WriteOptions::default()).unwrap());
    drop(object);
}

#[test]
fn attributes_of_attributes_and_calls_count_as_nesting() {
    for pair in [
        [0x200 | 2, 0x400 | 2],
        [0x200 | 6, 5],
        [3 | 0x600, 3 | 0x600],
    ] {
        let mut ints = pair.repeat(20_000);
        ints.push(254);
        assert_eq!(ErrorKind::Limit, kind(&xdr(&ints)));
    }
    // A long pairlist is no nesting.
    let mut ints = [2, 254].repeat(100_000);
    ints.push(254);
    let long = xdr(&ints);
    let object = rds::parse(&long, &ReadOptions::default()).unwrap();
    assert!(long == rds::serialize(&object, &WriteOptions::default()).unwrap());
}

#[test]
fn forged_lengths_are_cut_or_wrong_before_memory_is_taken() {
    let most = i32::MAX;
    for ints in [
        &[13, most][..],
        &[14, 10, 0, 0],
        &[14, -1, 65_536, 0],
        &[19, most],
        &[16, most],
        &[16, 1, 0x4_0009, most],
        &[1, 9, most],
        &[24, most],
        &[15, -1, 65_536, -1],
        &[10, most],
        &[20, -1, 65_535, -1],
        &[8, most],
        &[249, 0, most],
        &[21, most, 13, 0, most],
    ] {
        assert_eq!(ErrorKind::Truncated, kind(&xdr(ints)), "{ints:?}");
    }
    for ints in [
        &[13, -5][..],
        &[16, 1, 0x4_0009, -7],
        &[9, -2],
        &[14, -1, 65_537, 0],
        &[14, -1, -1, 0],
        &[255 | 5 << 8],
        &[255, 99],
        &[255, 0],
        &[255, -1],
        &[16, 1, 13, 0],
        &[1, 13, 0],
        &[8, -1],
        &[249, 1, 0],
        &[249, 0, -1],
        &[249, 0, 1, 254],
        &[21, -1],
        &[21, 1, 13, 0, -1],
        &[21, 1, 13, 0, 1, 243, 1],
        &[21, 1, 13, 0, 1, 243, -1],
        &[21, 1, 13, 0, 1, 244, 0, 13],
        &[254, 0],
    ] {
        assert_eq!(ErrorKind::Malformed, kind(&xdr(ints)), "{ints:?}");
    }
    for ints in [
        &[77][..],
        &[0],
        &[11],
        &[18],
        &[245],
        &[246],
        &[244],
        &[243],
    ] {
        assert_eq!(ErrorKind::Unsupported, kind(&xdr(ints)), "{ints:?}");
    }
    let mut long_name = xdr(&[]);
    long_name[17] = 64;
    assert_eq!(ErrorKind::Malformed, kind(&long_name));
}

/// Environments inside each other, each child named twice.
#[test]
#[cfg(unix)]
fn chains_of_shared_environments_take_linear_time() {
    let chain = |count: usize| {
        let count = i32::try_from(count).unwrap();
        let mut ints = Vec::new();
        for _ in 0..count {
            // An environment: its enclosure is global, its frame begins with the next one.
            ints.extend([4, 0, 253, 2]);
        }
        ints.push(254);
        for at in (1..=count).rev() {
            let child = if at == count {
                254
            } else {
                (at + 1) << 8 | 255
            };
            ints.extend([2, child, 254, 254, 254]);
        }
        xdr(&ints)
    };
    let options = ReadOptions {
        max_depth: usize::MAX,
        ..ReadOptions::default()
    };
    grows_linearly(2_500, |count| {
        let plain = chain(count);
        least_time(|| {
            let object = rds::parse(&plain, &options).unwrap();
            assert!(plain == rds::serialize(&object, &WriteOptions::default()).unwrap());
        })
    });
}

/// `1:1e13` or the like, as R's class of this name keeps it.
fn sequence(class: &str) -> Vec<u8> {
    let put = |plain: &mut Vec<u8>, ints: &[i32]| {
        for int in ints {
            plain.extend(int.swap_bytes().to_le_bytes());
        }
    };
    let size = i32::try_from(class.len()).unwrap();
    let mut plain = xdr(&[238, 2, 1, 0x4_0009, size]);
    plain.extend(class.as_bytes());
    put(&mut plain, &[2, 1, 0x4_0009, 4]);
    plain.extend(b"base");
    put(&mut plain, &[2, 13, 1, 13, 254, 14, 3]);
    for value in [1e13_f64, 1.0, 1.0] {
        plain.extend(value.to_bits().swap_bytes().to_le_bytes());
    }
    put(&mut plain, &[254]);
    plain
}

#[test]
fn sequences_of_trillions_stay_deferred() {
    for class in ["compact_realseq", "compact_intseq"] {
        let plain = sequence(class);
        let object = rds::parse(&plain, &ReadOptions::default()).unwrap();
        assert!(matches!(object.node().body, Body::Altrep(_)));
        assert_eq!(
            plain,
            rds::serialize(&object, &WriteOptions::default()).unwrap()
        );
        let version_2 = WriteOptions {
            version: Some(2),
            ..WriteOptions::default()
        };
        let kind = rds::serialize(&object, &version_2).unwrap_err().kind();
        assert_eq!(ErrorKind::Limit, kind, "{class}");
        assert_eq!(10_000_000_000_000, object.length());
        for budget in [None, Some(u64::MAX)] {
            let error = object.arena().data(object.id(), budget).unwrap_err();
            assert_eq!(ErrorKind::Limit, error.kind(), "{class}: {error}");
        }
        let error = to_arrow(&object, &ToArrow::default()).unwrap_err();
        assert_eq!(ErrorKind::Limit, error.kind(), "{class}: {error}");
        let error = dput::write(&object).unwrap_err();
        assert_eq!(ErrorKind::Limit, error.kind(), "{class}: {error}");
        let error = qdata::serialize(&object, &WriteOptions::default()).unwrap_err();
        assert_eq!(ErrorKind::Limit, error.kind(), "{class}: {error}");
        // In qs2 it is a deferred vector again.
        let again = qs2::serialize(&object, &WriteOptions::default()).unwrap();
        let again = qs2::parse(&again, &ReadOptions::default()).unwrap();
        assert_eq!(object.length(), again.length());
    }
}

/// Every prefix of every small file, and 1,000 of each large one.
#[test]
fn every_cut_file_is_an_error() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let (mut cuts, mut sample) = (0, Sample::new(24, 7));
    for (name, path) in fixtures(&folder) {
        if !name.contains(".none.") {
            continue;
        }
        let plain = decompress(&fs::read(&path).unwrap(), &Plain::default()).unwrap();
        let step = if plain.len() < 4000 {
            1
        } else {
            plain.len() / 1000
        };
        for size in sample.select((0..plain.len()).step_by(step)) {
            cuts += 1;
            let Err(error) = rds::parse(&plain[..size], &ReadOptions::default()) else {
                panic!("{name} cut to {size} of {} is read", plain.len());
            };
            assert_eq!(
                ErrorKind::Truncated,
                error.kind(),
                "{name} at {size}: {error}"
            );
            assert_eq!(Some("rds"), error.format());
        }
    }
    soak::count("cuts", cuts);
}

/// Each byte of twenty files changed in each bit: an error or a value, never a crash.
#[test]
fn every_flipped_bit_ends_in_an_error_or_a_value() {
    let Some(folder) = common::shared("fixtures/rds") else {
        return;
    };
    let options = ReadOptions {
        memory_budget: Some(64 << 20),
        ..ReadOptions::default()
    };
    let all = fixtures(&folder);
    let small = all
        .iter()
        .filter(|(name, path)| name.contains(".none.") && fs::metadata(path).unwrap().len() < 1500);
    let small: Vec<_> = small.collect();
    for (_, path) in small.iter().step_by(small.len() / 24) {
        let mut plain = fs::read(path).unwrap();
        for bit in 0..plain.len() * 8 {
            plain[bit / 8] ^= 1 << (bit % 8);
            if let Ok(object) = rds::parse(&plain, &options) {
                // What was read can be written.
                let _ = rds::serialize(&object, &WriteOptions::default());
            }
            plain[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn cut_rdata_is_an_error() {
    let Some(folder) = common::shared("fixtures/rdata") else {
        return;
    };
    for path in common::rds_files::files(&folder, &[".RData", ".rda"]) {
        let plain = decompress(&fs::read(&path).unwrap(), &Plain::default()).unwrap();
        for size in 0..plain.len().min(3000) {
            let error = rdata::parse(&plain[..size], &ReadOptions::default()).unwrap_err();
            let name = path.display();
            assert_eq!(
                ErrorKind::Truncated,
                error.kind(),
                "{name} at {size}: {error}"
            );
        }
    }
}
