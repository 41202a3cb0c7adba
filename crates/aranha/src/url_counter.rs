//! Counts how often each URL of a long stream occurs, in bounded memory.
//!
//! URLs are collected in a buffer. When the buffer is full, it is sorted, equal URLs are merged, and the result is
//! written to a temporary file (a run). At the end, all runs are merged. The files have no names, so that no file
//! remains after a crash.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Seek as _, Write as _};

/// Size of the buffer in bytes of text.
const BUFFER_SIZE: usize = 64 << 20;

/// The counter. URLs must not contain line ends or tabs. Canonical URLs contain neither.
#[derive(Debug, Default)]
pub(crate) struct UrlCounter {
    buffer: Vec<String>,
    size: usize,
    runs: Vec<File>,
}

impl UrlCounter {
    /// Adds one occurrence of a URL.
    pub(crate) fn add(&mut self, url: String) -> io::Result<()> {
        self.size += url.len() + size_of::<String>();
        self.buffer.push(url);
        if self.size > BUFFER_SIZE {
            self.spill()?;
        }
        Ok(())
    }

    /// Calls `show` with every URL and its count, in alphabetical order. Ends at the first error of `show`.
    pub(crate) fn finish<E: From<io::Error>>(
        mut self,
        mut show: impl FnMut(&str, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.runs.is_empty() {
            self.buffer.sort_unstable();
            return self
                .buffer
                .chunk_by(|a, b| a == b)
                .try_for_each(|equal| show(&equal[0], equal.len() as u64));
        }
        self.spill()?;
        let mut readers: Vec<_> = self.runs.into_iter().map(BufReader::new).collect();
        let mut heap = BinaryHeap::new();
        for (index, reader) in readers.iter_mut().enumerate() {
            heap.extend(next(reader)?.map(|(url, count)| Reverse((url, index, count))));
        }
        let mut current: Option<(String, u64)> = None;
        while let Some(Reverse((url, index, count))) = heap.pop() {
            heap.extend(
                next(&mut readers[index])?.map(|(url, count)| Reverse((url, index, count))),
            );
            match &mut current {
                Some((same, total)) if *same == url => *total += count,
                _ => {
                    if let Some((url, total)) = current.replace((url, count)) {
                        show(&url, total)?;
                    }
                }
            }
        }
        current.map_or(Ok(()), |(url, total)| show(&url, total))
    }

    /// Writes the buffer to a new run.
    fn spill(&mut self) -> io::Result<()> {
        self.buffer.sort_unstable();
        let mut writer = BufWriter::new(tempfile::tempfile()?);
        for equal in self.buffer.chunk_by(|a, b| a == b) {
            writeln!(writer, "{}\t{}", equal.len(), equal[0])?;
        }
        let mut file = writer
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        self.runs.push(file);
        self.buffer.clear();
        self.size = 0;
        Ok(())
    }
}

/// Reads the next URL of a run, and its count.
fn next(reader: &mut BufReader<impl Read>) -> io::Result<Option<(String, u64)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let entry = line.trim_end_matches('\n').split_once('\t');
    let entry = entry.and_then(|(count, url)| Some((url.to_owned(), count.parse().ok()?)));
    entry
        .map(Some)
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts `urls`. Begins a new run after every `run` URLs.
    fn counts(urls: &[&str], run: usize) -> Vec<(String, u64)> {
        let mut counter = UrlCounter::default();
        for (index, url) in urls.iter().enumerate() {
            counter.add((*url).to_owned()).unwrap();
            if (index + 1) % run == 0 {
                counter.spill().unwrap();
            }
        }
        let mut counts = Vec::new();
        let show = |url: &str, count| {
            counts.push((url.to_owned(), count));
            Ok::<_, io::Error>(())
        };
        counter.finish(show).unwrap();
        counts
    }

    #[test]
    fn runs_do_not_change_the_counts() {
        let urls = ["c", "a", "b", "a", "a", "c", "d"];
        let expected =
            [("a", 3), ("b", 1), ("c", 2), ("d", 1)].map(|(url, count)| (url.to_owned(), count));
        for run in 1..=8 {
            assert_eq!(counts(&urls, run), expected, "runs of {run}");
        }
        assert_eq!(counts(&[], 1), []);
    }
}
