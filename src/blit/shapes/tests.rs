//! Sequences of names as they are met.

use super::*;

fn step(sequences: &mut Sequences, numbers: &[u32]) -> u32 {
    let step = |at, &number: &u32| sequences.step(at, number).unwrap();
    numbers.iter().fold(START, step)
}

#[test]
fn names_get_ids_when_their_object_closes() {
    let (mut names, mut sequences) = (Names::default(), Sequences::default());
    let a = names.number(b"a", None).unwrap();
    let b = names.number(b"b", None).unwrap();
    assert_eq!(a, names.number(b"a", None).unwrap());
    let at = step(&mut sequences, &[b]);
    let (inner, _) = sequences.close(at, &mut names, Duplicates::Last).unwrap();
    let at = step(&mut sequences, &[a]);
    let (outer, _) = sequences.close(at, &mut names, Duplicates::Last).unwrap();
    assert_eq!((0, 1), (sequences.shape(inner), sequences.shape(outer)));
    assert_eq!(0, sequences.shape(inner));
    let mut out = Vec::new();
    names.write(&mut out);
    assert_eq!(b"\x62\x61\x01\x09\xA1\x3F\x1F"[..], out);
    out.clear();
    sequences.write(&names, &mut out);
    assert_eq!(b"\x00\x00\x01\x00\x02\xA0"[..], out);
}

#[test]
fn the_last_value_stands_at_the_place_of_the_first() {
    let (mut names, mut sequences) = (Names::default(), Sequences::default());
    let numbers: Vec<u32> = [&b"a"[..], b"b", b"a"]
        .iter()
        .map(|name| names.number(name, None).unwrap())
        .collect();
    for _ in 0..2 {
        let at = step(&mut sequences, &numbers);
        let (sequence, places) = sequences.close(at, &mut names, Duplicates::Last).unwrap();
        assert_eq!(Some(&[2, 1][..]), places);
        assert_eq!([0, 1], sequences.names(sequence));
    }
    let mut refusing = Sequences::default();
    let at = step(&mut refusing, &numbers);
    let error = refusing
        .close(at, &mut names, Duplicates::Error)
        .unwrap_err();
    assert!(error.to_string().contains("\"a\""), "{error}");
    let many: Vec<u32> = (0..40).chain([3]).collect();
    assert_eq!(Some(&40), last_places(&many).unwrap().get(3));
}

#[test]
fn steps_are_found_again_however_they_fork() {
    let (mut names, mut sequences) = (Names::default(), Sequences::default());
    let mut first = Vec::new();
    for round in 0..3 {
        for i in 0..50_u32 {
            let numbers = [i % 7, i, 60 + i % 3];
            let at = step(&mut sequences, &numbers);
            let (sequence, _) = sequences.close(at, &mut names, Duplicates::Keep).unwrap();
            assert_eq!(numbers, sequences.names(sequence));
            assert_eq!(sequence, sequences.number(&numbers).unwrap());
            if round == 0 {
                first.push(sequence);
            }
            assert_eq!(first[i as usize], sequence);
        }
    }
}

#[test]
fn the_next_name_is_the_one_that_came_last() {
    let mut sequences = Sequences::default();
    assert_eq!(None, sequences.likely(START, START));
    let a = sequences.step(START, 10).unwrap();
    sequences.began(START, a);
    let b = sequences.step(a, 11).unwrap();
    assert_eq!(Some((a, 10)), sequences.likely(START, START));
    assert_eq!(Some((b, 11)), sequences.likely(a, START));
    assert_eq!(None, sequences.likely(b, START));
    let c = sequences.step(START, 12).unwrap();
    sequences.began(b, c);
    assert_eq!(Some((c, 12)), sequences.likely(START, b));
    assert_eq!(Some((a, 10)), sequences.likely(START, START));
}
