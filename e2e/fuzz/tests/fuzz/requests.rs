//! Requests of members, which their administrators hand over as files: the hub signs what it is asked for, and no more.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fleetctl::approval::request::{Checked, check as checked, make, object};
use proptest::prelude::*;
use rcgen::KeyPair;
use serde_json::Value;
use x509_parser::prelude::{FromDer as _, X509CertificationRequest};

use crate::memory::bounded;
use crate::mutation::any_mutation;
use crate::runner::check;

const SEEDS: &str = "corpus/requests.txt";

static REQUEST: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let pem = make("east", &KeyPair::generate().unwrap()).unwrap();
    pem::parse(pem).unwrap().into_contents()
});

fn text(der: &[u8]) -> String {
    pem::encode(&pem::Pem::new("CERTIFICATE REQUEST", der))
}

/// What was accepted is for one user only, as others read it.
fn is_for_one(accepted: &Checked) -> Result<(), TestCaseError> {
    let all =
        pem::parse_many(&accepted.pem).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(all.len(), 1);
    prop_assert_eq!(all[0].tag(), "CERTIFICATE REQUEST");
    // What no other reader takes for a request the API server refuses, too.
    let Ok((_, read)) = X509CertificationRequest::from_der(all[0].contents()) else {
        return Ok(());
    };
    let subject = &read.certification_request_info.subject;
    prop_assert_eq!(subject.to_string(), format!("CN={}", accepted.user));
    let digits = accepted.user.strip_prefix("fleet-join:").unwrap_or_default();
    let is_hex = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    prop_assert!(digits.len() == 32 && is_hex, "{}", accepted.user);
    Ok(())
}

#[test]
fn a_request_that_is_accepted_is_for_one_user() {
    let byte = (any::<prop::sample::Index>(), any::<u8>(), 0_u8..3);
    let bytes = prop::collection::vec(byte, 0..4);
    check(SEEDS, 256, &bytes, |edits| {
        let mut der = REQUEST.clone();
        for (at, byte, how) in &edits {
            // The subject is in the first of the bytes, what it is signed with in the last.
            let at = at.index(der.len().min(60));
            match how {
                0 => der[at] = *byte,
                1 => der.insert(at, *byte),
                _ => drop(der.remove(at)),
            }
        }
        let accepted = checked("east", &object("east", &text(&der)));
        prop_assert!(accepted.is_ok() || !edits.is_empty());
        accepted.map_or(Ok(()), |accepted| is_for_one(&accepted))
    });
}

#[test]
fn any_file_may_come_as_a_request() {
    let mutations = prop::collection::vec(any_mutation(), 0..3);
    let around = "[ -~\n]{0,40}";
    check(SEEDS, 128, &(mutations, around, around), |(mutations, before, after)| {
        let mut file = object("east", &text(&REQUEST));
        for mutation in &mutations {
            mutation.apply(&mut file);
        }
        let pem = file["spec"]["request"].as_str().and_then(|text| STANDARD.decode(text).ok());
        if let Some(pem) = pem {
            let pem = [before.as_bytes(), &pem, after.as_bytes()].concat();
            file["spec"]["request"] = Value::from(STANDARD.encode(pem));
        }
        let size = file.to_string().len();
        let accepted = bounded(size, 16, || checked("east", &file))?;
        accepted.map_or(Ok(()), |accepted| is_for_one(&accepted))
    });
}
