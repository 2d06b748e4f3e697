//! Damaged serializations: an error with its place, or another value; never a panic, never less
//! than was written.

use crate::common::soak::{self, Sample};
use crate::r_files;

use std::time::{Duration, Instant};

use tare::robject::{rds, read, Encoding, RObject, ReadOptions, WriteOptions};
use tare::ErrorKind;

use r_files::{group, Fixture};

/// Files of this size are cut at every byte; larger ones at so many places.
const SMALL: usize = 2_000;
const PLACES: usize = 1_000;

fn limits() -> ReadOptions {
    ReadOptions {
        memory_budget: Some(256 << 20),
        ..ReadOptions::default()
    }
}

/// The places at which a file of this size is cut.
fn places(size: usize) -> Vec<usize> {
    if size <= SMALL {
        return (0..size).collect();
    }
    (0..PLACES).map(|at| at * size / PLACES).collect()
}

fn written(object: &RObject) -> Vec<u8> {
    // Version 2 has no deferred vectors, and not all can be made: 3 has them all.
    let options = WriteOptions {
        version: Some(3),
        encoding: Some(Encoding::Xdr),
        ..WriteOptions::default()
    };
    rds::serialize(object, &options).unwrap()
}

/// What the cut file ends in: an error that says so, at a place within.
fn refused(name: &str, at: usize, cut: &[u8]) {
    let Err(error) = read(cut, &limits()) else {
        panic!("{name} cut at {at} was read");
    };
    let kind = error.kind();
    let right = matches!(kind, ErrorKind::Truncated | ErrorKind::Malformed);
    assert!(right, "{name} cut at {at}: {kind:?}: {error}");
    // Before the first bytes tell the format there is none to name.
    let named = error.format().is_some() || at < 16;
    assert!(named, "{name} cut at {at}: {error}");
    assert!(error.offset().is_some(), "{name} cut at {at}: {error}");
}

#[test]
fn every_prefix_of_every_file_is_an_error() {
    let Some(files) = group("rds") else { return };
    let (mut cuts, mut read) = (0, 0);
    let mut sample = Sample::new(4, 31);
    for file in &files {
        // Long vectors differ from others in length alone: a tenth of the places.
        let step = if file.bytes.len() > 100_000 { 10 } else { 1 };
        let places = places(file.bytes.len()).into_iter().step_by(step);
        for at in sample.select(places) {
            // The line feed at the end of text says nothing.
            let text = file.text("encoding").starts_with("ascii");
            if text && at + 1 == file.bytes.len() {
                continue;
            }
            refused(&file.name, at, &file.bytes[..at]);
            cuts += 1;
        }
        read += 1;
    }
    assert_eq!(1186, read);
    assert!(cuts > soak::scaled(15_000, 240_000), "{cuts} cuts");
    soak::count("cuts", cuts);
}

/// Twenty files of all encodings and most kinds, each small enough for every bit.
fn twenty(files: &[Fixture]) -> Vec<&Fixture> {
    let names = [
        "rds/data_frame.v3.xdr.none.rds",
        "rds/data_frame.v2.ascii.none.rds",
        "rds/dbl.v3.asciihex.none.rds",
        "rds/dbl.v3.ascii.none.rds",
        "rds/environment_cycle.v3.xdr.none.rds",
        "rds/environment_cycle.v2.native.none.rds",
        "rds/closure.v3.xdr.none.rds",
        "rds/s4_nested.v3.xdr.none.rds",
        "rds/altrep_deferred_string.v3.xdr.none.rds",
        "rds/altrep_wrap_real.v3.xdr.none.rds",
        "rds/altrep_compact_intseq_rev.v3.xdr.none.rds",
        "rds/factor_na_level.v3.xdr.none.rds",
        "rds/chr_mixed_enc.v3.ascii.none.rds",
        "rds/chr_mixed_enc.v3.xdr.none.rds",
        "rds/environment_promise.v3.xdr.none.rds",
        "rds/formula.v3.xdr.none.rds",
        "rds/list_grown.v3.xdr.none.rds",
        "rds/nested.v3.xdr.gzip.rds",
        "rds/cplx.v3.xdr.bzip2.rds",
        "rds/raw.v3.xdr.xz.rds",
    ];
    let find = |name: &&str| files.iter().find(|file| file.name == *name);
    let found: Vec<&Fixture> = names.iter().filter_map(find).collect();
    assert_eq!(20, found.len());
    found
}

#[test]
fn every_flipped_bit_ends_in_an_error_or_a_value() {
    let Some(files) = group("rds") else { return };
    let (mut flips, mut errors) = (0, 0);
    for file in twenty(&files) {
        for bit in 0..file.bytes.len() * 8 {
            let mut bytes = file.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let start = Instant::now();
            flips += 1;
            match read(&bytes, &limits()) {
                Ok(object) => {
                    let plain = written(&object);
                    let again = rds::parse(&plain, &ReadOptions::default()).unwrap();
                    assert!(written(&again) == plain, "{} bit {bit}", file.name);
                }
                Err(error) => {
                    errors += 1;
                    let named = error.format().is_some() || bit < 64;
                    let told = named && error.offset().is_some();
                    assert!(told, "{} bit {bit}: {:?} {error}", file.name, error.kind());
                    assert_ne!(ErrorKind::Internal, error.kind(), "{error}");
                }
            }
            let took = start.elapsed();
            assert!(
                took < Duration::from_secs(5),
                "{} bit {bit}: {took:?}",
                file.name
            );
        }
    }
    assert!(
        flips > 40_000 && errors > 15_000,
        "{flips} flips, {errors} errors"
    );
}
