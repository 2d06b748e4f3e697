//! How many values there are in one: made of nothing, and counted as they are made.

use super::make::{Column, Maker};
use super::view::Value;
use crate::Result;

impl Value<'_> {
    /// Counts the elements and members of this value and of all in it, `most` of them at most.
    ///
    /// Few bytes may say many values: this tells before anything is made of them. It takes a byte
    /// for each element of a list.
    ///
    /// # Errors
    /// `Limit` for more; `Malformed` where the document is not what it says.
    ///
    /// # Example
    /// ```
    /// use tare::blit::{from_json, Options, View};
    ///
    /// let document = from_json(br#"[1, [2, 3], {"a": 4}]"#, &Options::default())?;
    /// let view = View::open(&document)?;
    /// let root = view.root()?;
    /// assert_eq!(6, root.count(100)?);
    /// assert!(root.count(5).is_err());
    /// # Ok::<(), tare::Error>(())
    /// ```
    pub fn count(&self, most: u64) -> Result<u64> {
        let mut counted = Counted(0);
        self.make(&mut counted, most)?;
        Ok(counted.0)
    }
}

/// Values that there were.
struct Counted(u64);

impl Counted {
    #[inline]
    fn add(&mut self, n: usize) {
        self.0 = self.0.saturating_add(n as u64);
    }
}

impl Maker for Counted {
    type Made = ();

    fn null(&mut self) -> Result<()> {
        Ok(())
    }

    fn bool(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    fn int(&mut self, _: i64) -> Result<()> {
        Ok(())
    }

    fn uint(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn float(&mut self, _: f64) -> Result<()> {
        Ok(())
    }

    fn number_text(&mut self, _: &str) -> Result<()> {
        Ok(())
    }

    fn text(&mut self, _: &[u8], _: bool) -> Result<()> {
        Ok(())
    }

    fn bytes(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }

    fn again(&mut self, (): &()) {}

    fn array(&mut self, n: usize, items: impl Iterator<Item = ()>) -> Result<()> {
        self.add(n);
        // Those that are taken are gone from the run that they are of.
        items.for_each(drop);
        Ok(())
    }

    fn object(&mut self, _: &[usize], values: impl Iterator<Item = Option<()>>) -> Result<()> {
        self.add(values.flatten().count());
        Ok(())
    }

    fn rows(
        &mut self,
        _: &[usize],
        columns: &mut [Column<()>],
        n: usize,
        out: &mut Column<()>,
    ) -> Result<()> {
        for column in columns {
            self.add(column.drain(..).flatten().count());
        }
        out.resize(out.len().saturating_add(n), Some(()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::blit::{from_json, Layout, Options, View};

    #[test]
    fn every_element_and_member_counts() {
        let row = |i: usize| match i % 3 {
            0 => format!(r#"{{"id":{i},"at":[{i},null]}}"#),
            1 => format!(r#"{{"id":{i},"late":true}}"#),
            _ => format!(r#"{{"id":null,"at":[{i}],"name":"n{}"}}"#, i % 2),
        };
        let rows: Vec<String> = (0..300).map(row).collect();
        // Of three rows 4, 2 and 4 values, and the rows.
        let wanted = 100 * (4 + 2 + 4) + 300;
        let text = format!("[{}]", rows.join(","));
        for layout in [Layout::Columns, Layout::Rows] {
            let options = Options {
                layout,
                ..Options::default()
            };
            let document = from_json(text.as_bytes(), &options).unwrap();
            let view = View::open(&document).unwrap();
            let root = view.root().unwrap();
            assert_eq!(wanted, root.count(10_000).unwrap());
            assert_eq!(crate::ErrorKind::Limit, root.count(600).unwrap_err().kind());
        }
    }
}
