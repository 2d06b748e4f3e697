//! Choosing a compressor for a bandwidth, by trying some on this machine.

use std::time::Instant;

use super::{options, Compressor, Kind, WriteOptions, Writer};
use crate::{Error, ErrorKind, Result};

/// What is tried, cheapest first.
const CANDIDATES: &[(Kind, i32)] = &[
    (Kind::Lz4, 1),
    (Kind::Zstd, 1),
    (Kind::Zstd, 3),
    (Kind::Zstd, 6),
    (Kind::Zstd, 9),
    (Kind::Zstd, 12),
];

/// Within so much of the best the cheaper one is taken.
const CLOSE: f64 = 0.97;

/// What a candidate did with the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The candidate.
    pub compressor: Compressor,
    /// Plain bytes per second of one thread.
    pub speed: f64,
    /// Plain bytes for each stored one.
    pub ratio: f64,
}

impl Trial {
    /// Plain bytes per second that come through a link of `bandwidth` bytes per second.
    #[must_use]
    pub fn throughput(&self, threads: usize, bandwidth: f64) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "at most 256 threads")]
        let threads = threads as f64;
        (threads * self.speed).min(self.ratio * bandwidth)
    }
}

/// Compresses a sample with each candidate once, on the calling thread.
///
/// # Errors
/// `Usage` for an empty sample or a kind that is not chosen between; `Internal` if a library fails.
pub fn try_candidates(sample: &[u8], kind: Option<Kind>) -> Result<Vec<Trial>> {
    if sample.is_empty() {
        return Err(Error::new(
            ErrorKind::Usage,
            "nothing to try compressors on",
        ));
    }
    let fitting = |candidate: &&(Kind, i32)| kind.is_none_or(|kind| kind == candidate.0);
    let trials: Result<Vec<Trial>> = CANDIDATES
        .iter()
        .filter(fitting)
        .map(|&(kind, level)| attempt(sample, Compressor::new(kind, Some(level))?))
        .collect();
    match trials {
        Ok(trials) if trials.is_empty() => {
            let text = "auto chooses between levels of lz4 and zstd only";
            Err(Error::new(ErrorKind::Usage, text))
        }
        other => other,
    }
}

/// The compressor that lets the most plain bytes through: the least of what `threads` compress
/// and what `bandwidth` carries, of those tried; within 3 % the cheaper.
///
/// # Errors
/// `Usage` for a bandwidth that is not above 0, or nothing tried.
///
/// # Example
/// ```
/// use tare::compress::{choose, try_candidates, Kind};
///
/// let sample = b"station,carrier,distance\n".repeat(10_000);
/// let trials = try_candidates(&sample, Some(Kind::Zstd))?;
/// let slow_link = choose(&trials, 2, 1e4)?;
/// assert_eq!("zstd", slow_link.name());
/// # Ok::<(), tare::Error>(())
/// ```
pub fn choose(trials: &[Trial], threads: usize, bandwidth: f64) -> Result<Compressor> {
    if bandwidth.is_nan() || bandwidth <= 0.0 {
        let text = format!("no bandwidth of {bandwidth} bytes per second");
        return Err(Error::new(ErrorKind::Usage, text));
    }
    options::check_threads(Some(threads))?;
    let best = trials
        .iter()
        .map(|trial| trial.throughput(threads, bandwidth))
        .fold(0.0, f64::max);
    let close = |trial: &&Trial| trial.throughput(threads, bandwidth) >= CLOSE * best;
    let found = trials.iter().find(close);
    found
        .map(|trial| trial.compressor)
        .ok_or_else(|| Error::new(ErrorKind::Usage, "no compressor was tried"))
}

fn attempt(sample: &[u8], compressor: Compressor) -> Result<Trial> {
    let options = WriteOptions {
        threads: Some(1),
        content_size: Some(sample.len() as u64),
        ..WriteOptions::default()
    };
    let start = Instant::now();
    let mut writer = Writer::new(Vec::new(), compressor, options)?;
    writer.push(sample)?;
    let (stored, _) = writer.finish()?;
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    #[allow(
        clippy::cast_precision_loss,
        reason = "a sample is far below 2^52 bytes"
    )]
    let (plain, stored) = (sample.len() as f64, stored.len().max(1) as f64);
    Ok(Trial {
        compressor,
        speed: plain / seconds,
        ratio: plain / stored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speeds and ratios of flights as CSV, from the design's tables.
    fn csv() -> Vec<Trial> {
        let trial = |kind, level, speed, ratio| Trial {
            compressor: Compressor::new(kind, Some(level)).unwrap(),
            speed,
            ratio,
        };
        vec![
            trial(Kind::Lz4, 1, 575e6, 2.27),
            trial(Kind::Zstd, 1, 458e6, 3.78),
            trial(Kind::Zstd, 3, 282e6, 4.09),
            trial(Kind::Zstd, 6, 111e6, 4.51),
            trial(Kind::Zstd, 9, 71e6, 4.81),
            trial(Kind::Zstd, 12, 43e6, 4.91),
        ]
    }

    #[test]
    fn slower_links_get_more_effort() {
        let at = |bandwidth| choose(&csv(), 2, bandwidth).unwrap().to_string();
        assert_eq!("zstd:9", at(12.5e6)); // 12 is less than 3 % better there
        assert_eq!("zstd:3", at(125e6));
        assert_eq!("lz4:1", at(400e6)); // zstd:1 lets 0.9 % more through, and costs more
        assert_eq!("zstd:1", at(300e6));
        assert_eq!("lz4:1", at(1.25e9));
        assert!(choose(&csv(), 2, 0.0).is_err());
        assert!(choose(&csv(), 2, f64::NAN).is_err());
        assert!(choose(&[], 2, 1e9).is_err());
    }
}
