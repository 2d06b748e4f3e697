//! Random objects of all kinds, with cycles and attributes: written and read they are the same.

use crate::r_dump;
use crate::r_tree;

use proptest::prelude::*;
use tare::robject::{qdata, qs2, rds, Encoding, RObject, ReadOptions, WriteOptions};

use r_dump::{dump, Loose};
use r_tree::{tree, Kinds};

fn same(one: &RObject, two: &RObject, loose: Loose) {
    let (one, two) = (dump(one, loose), dump(two, loose));
    if let Some(at) = one.iter().zip(&two).position(|(one, two)| one != two) {
        panic!("line {at}:\n{}\n{}", one[at], two[at]);
    }
    assert_eq!(one.len(), two.len());
}

const ENCODINGS: [Encoding; 4] = [
    Encoding::Xdr,
    Encoding::Ascii,
    Encoding::AsciiHex,
    Encoding::Native,
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn serializations_of_both_versions_in_all_encodings(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let object = tree(&bytes, Kinds::All);
        for version in [2, 3] {
            for encoding in ENCODINGS {
                let options = WriteOptions {
                    version: Some(version),
                    encoding: Some(encoding),
                    ..WriteOptions::default()
                };
                let written = rds::serialize(&object, &options).unwrap();
                let again = rds::parse(&written, &ReadOptions::default()).unwrap();
                let loose = Loose {
                    nan: matches!(encoding, Encoding::Ascii | Encoding::AsciiHex),
                    decimal: encoding == Encoding::Ascii,
                    expand: version == 2,
                };
                same(&object, &again, loose);
                let twice = rds::serialize(&again, &options).unwrap();
                prop_assert!(written == twice, "{:?} of version {} is not stable", encoding, version);
                // Every part that is missing is missed.
                let cut = bytes.len() * 31 % written.len();
                prop_assert!(rds::parse(&written[..cut], &ReadOptions::default()).is_err());
            }
        }
    }

    #[test]
    fn qs2_holds_all(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let object = tree(&bytes, Kinds::All);
        let written = qs2::serialize(&object, &WriteOptions::default()).unwrap();
        let again = qs2::parse(&written, &ReadOptions::default()).unwrap();
        same(&object, &again, Loose::default());
    }

    #[test]
    fn qdata_holds_data(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let object = tree(&bytes, Kinds::Data);
        let written = qdata::serialize(&object, &WriteOptions::default()).unwrap();
        let again = qdata::parse(&written, &ReadOptions::default()).unwrap();
        same(&object, &again, Loose::default());
        let twice = qdata::serialize(&again, &WriteOptions::default()).unwrap();
        prop_assert!(written == twice);
    }

    #[test]
    fn qdata_takes_anything(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let object = tree(&bytes, Kinds::All);
        let written = qdata::serialize(&object, &WriteOptions::default()).unwrap();
        qdata::parse(&written, &ReadOptions::default()).unwrap();
    }
}

/// The comparison of this file sees every kind of difference that it should.
#[test]
fn a_changed_byte_of_what_was_written_is_seen() {
    let bytes: Vec<u8> = (0..=255).cycle().take(600).collect();
    let object = tree(&bytes, Kinds::All);
    let written = rds::serialize(&object, &WriteOptions::default()).unwrap();
    let lines = dump(&object, Loose::default());
    let (mut read, mut unseen) = (0, 0);
    for at in (23..written.len()).step_by(3) {
        let mut changed = written.clone();
        changed[at] ^= 1;
        if let Ok(other) = rds::parse(&changed, &ReadOptions::default()) {
            read += 1;
            // What no line shows is not kept either: it is not written.
            if dump(&other, Loose::default()) == lines {
                let again = rds::serialize(&other, &WriteOptions::default()).unwrap();
                unseen += usize::from(again != written);
            }
        }
    }
    assert!(read > 300, "{read} read");
    assert_eq!(0, unseen, "of {read} read");
}
