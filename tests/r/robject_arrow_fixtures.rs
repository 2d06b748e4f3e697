//! Every golden object of R as Arrow and back: what is not reported as lost is identical.

use crate::common;

use std::fs;

use tare::robject::arrow::{from_arrow, to_arrow, FromArrow, ToArrow};
use tare::robject::{rds, Kind, LossKind, RObject, ReadOptions};

/// Plain version 3 files, one for each object: name and bytes.
fn objects() -> Vec<(String, RObject)> {
    let Some(folder) = common::shared("fixtures/rds") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if let Some(object) = name.strip_suffix(".v3.xdr.none.rds") {
            let plain = fs::read(&path).unwrap();
            let read = rds::parse(&plain, &ReadOptions::default()).unwrap();
            found.push((object.to_string(), read));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(found.len() > 80, "{} objects alone", found.len());
    found
}

#[test]
fn what_is_not_reported_comes_back_identical() {
    let mut wrong = Vec::new();
    let (mut same, mut reported, mut refused) = (0, 0, 0);
    for (name, object) in objects() {
        let (made, losses) = match to_arrow(&object, &ToArrow::default()) {
            Ok(made) => made,
            Err(error) => {
                println!("{name}: {error}");
                refused += 1;
                continue;
            }
        };
        made.array.to_data().validate_full().unwrap();
        let back = from_arrow(&made.field, &[made.array], &FromArrow::default());
        let (back, back_losses) = match back {
            Ok(back) => back,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let lost = losses.list().iter().chain(back_losses.list());
        let lost: Vec<String> = lost
            .filter(|loss| !loss.kind.is_information())
            .map(ToString::to_string)
            .collect();
        println!("{name}: {} {lost:?}", made.field.data_type());
        // A pairlist comes back as a list, which is said; data.table makes its address anew.
        let other = losses
            .list()
            .iter()
            .any(|loss| matches!(loss.kind, LossKind::TypeChanged | LossKind::AddressDropped));
        if !lost.is_empty() || other {
            reported += 1;
            continue;
        }
        if object.identical(&back).unwrap() {
            same += 1;
        } else {
            wrong.push(format!("{name}: neither reported nor identical"));
        }
    }
    println!("{same} identical, {reported} with losses, {refused} refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(same > 45 || same == 0, "{same} identical alone");
}

#[test]
fn only_what_is_no_data_is_refused() {
    for (name, object) in objects() {
        if to_arrow(&object, &ToArrow::default()).is_ok() {
            continue;
        }
        let kind = object.kind();
        let data = matches!(
            kind,
            Kind::Logical
                | Kind::Integer
                | Kind::Double
                | Kind::Complex
                | Kind::Character
                | Kind::Raw
        );
        assert!(!data, "{name} of type {} is refused", kind.name());
    }
}
