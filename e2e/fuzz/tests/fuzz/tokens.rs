//! Tokens: what they state about themselves, true or not.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fleet_api::names::is_dns1123_subdomain;
use fleet_runtime::credential::{Claims, Clocks, Standing};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::memory::bounded;
use crate::mutation::{any_mutation, text};
use crate::runner::check;

const SEEDS: &str = "corpus/tokens.txt";

fn sample() -> Value {
    json!({
        "aud": ["https://hub"], "exp": 1_700_086_400, "iat": 1_700_000_000,
        "sub": "system:serviceaccount:fleet-member-m00:member-agent",
        "kubernetes.io": { "namespace": "fleet-member-m00", "warnafter": 1_700_003_600 },
    })
}

fn token(payload: &str) -> String {
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.c2lnbmF0dXJl", encode("{\"alg\":\"ES256\"}"), encode(payload))
}

#[test]
fn claims_are_those_of_the_payload() {
    let payload = prop::collection::vec(any_mutation(), 0..4).prop_map(|mutations| {
        let mut payload = sample();
        for mutation in &mutations {
            mutation.apply(&mut payload);
        }
        payload
    });
    check(SEEDS, 256, &payload, |payload| {
        let text = token(&payload.to_string());
        let Some(claims) = bounded(text.len(), 32, || Claims::of(&text))? else { return Ok(()) };
        let seconds = |field: &str| payload[field].as_f64();
        for (read, stated) in [(claims.expires, "exp"), (claims.issued, "iat")] {
            // To the second, as far as there are times.
            let Some(stated) = seconds(stated) else {
                prop_assert_eq!(read, None);
                continue;
            };
            let read = read.unwrap().as_second();
            #[expect(
                clippy::cast_precision_loss,
                reason = "compared with what was rounded likewise"
            )]
            let near = (read as f64 - stated).abs() <= 1.0 || stated.abs() > 2e11;
            prop_assert!(near, "{} for {}", read, stated);
        }
        let subject = payload["sub"].as_str().unwrap_or_default();
        if let Some(account) = claims.account {
            // It becomes a part of a path.
            let expected = format!("system:serviceaccount:{}:{}", account.namespace, account.name);
            prop_assert_eq!(subject, expected);
            for part in [&account.namespace, &account.name] {
                prop_assert!(!part.contains('/') && part != ".." && part != ".", "{}", part);
            }
        } else if let Some((namespace, name)) =
            subject.strip_prefix("system:serviceaccount:").and_then(|it| it.split_once(':'))
        {
            prop_assert!(!is_dns1123_subdomain(namespace) || !is_dns1123_subdomain(name));
        }
        Ok(())
    });
}

#[test]
fn any_text_may_come_as_a_token() {
    let texts = prop_oneof![
        text(),
        text().prop_map(|payload| token(&payload)),
        prop::collection::vec(any::<u8>(), 0..200)
            .prop_map(|bytes| format!("a.{}.b", URL_SAFE_NO_PAD.encode(bytes))),
        (0_usize..4000).prop_map(|depth| token(&format!("{{\"x\":{}", "[".repeat(depth)))),
        (1_usize..200_000)
            .prop_map(|length| token(&format!("{{\"sub\":\"{}\"}}", "s".repeat(length)))),
    ];
    check(SEEDS, 128, &texts, |text| {
        let claims = bounded(text.len(), 16, || Claims::of(&text))?;
        prop_assert_eq!(Claims::of(&format!(" {text}\n")), claims);
        Ok(())
    });
}

/// A credential is given up when both clocks are past its end, and not earlier.
#[test]
fn a_credential_never_becomes_good_again_by_time() {
    let second = || -4_000_000_000_i64..4_000_000_000;
    check(
        SEEDS,
        128,
        &(second(), second(), second(), any::<bool>()),
        |(end, own, server, refused)| {
            let at = |second| Timestamp::from_second(second).unwrap();
            let claims =
                Claims { expires: Some(at(end)), issued: None, account: None, audiences: vec![] };
            let standing = |later: i64| {
                let later = SignedDuration::from_secs(later);
                let clocks = Clocks { own: at(own) + later, server: Some(at(server) + later) };
                Standing::of(Some(&claims), clocks, refused)
            };
            let is_past = own >= end && server >= end;
            prop_assert_eq!(matches!(standing(0), Standing::Expired(_)), is_past);
            prop_assert!(standing(0).is_good() || !standing(1000).is_good());
            Ok(())
        },
    );
}
