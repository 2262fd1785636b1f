//! Certificates as text: what is written holds what was given.

use fleet_runtime::clients::certificates_to_pem;
use proptest::prelude::*;

use crate::memory::bounded;
use crate::runner::check;

const SEEDS: &str = "corpus/certificates.txt";

#[test]
fn certificates_are_read_as_they_were_written() {
    let ders = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..600), 0..4);
    check(SEEDS, 64, &ders, |ders| {
        let size = ders.iter().map(Vec::len).sum();
        let text = bounded(size, 16, || certificates_to_pem(&ders))?;
        let read: Vec<_> =
            pem::parse_many(&text).unwrap().into_iter().map(pem::Pem::into_contents).collect();
        // The reader knows no certificate without contents.
        let given: Vec<_> = ders.into_iter().filter(|der| !der.is_empty()).collect();
        let read: Vec<_> = read.into_iter().filter(|der| !der.is_empty()).collect();
        prop_assert_eq!(read, given);
        prop_assert!(text.lines().all(|line| line.len() <= 64));
        Ok(())
    });
}
