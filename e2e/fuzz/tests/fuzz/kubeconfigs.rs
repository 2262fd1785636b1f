//! Kubeconfigs for the hub: none sends a token in clear text, and no error repeats a secret.

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fleet_runtime::clients::{HubAccess, certificates_to_pem};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::mutation::any_mutation;
use crate::runner::check;

const SEEDS: &str = "corpus/kubeconfigs.txt";
const SECRET: &str = "eyJ0b2tlbiI6InNlY3JldCJ9";

/// A key that variables, templates and hands have passed on.
fn key() -> impl Strategy<Value = String> {
    let (begin, end) = ("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----");
    prop_oneof![
        Just(format!("{begin}\n{SECRET}\n{end}\n")),
        Just(format!("{begin}{SECRET}{end}")),
        Just(format!("{begin}{SECRET}\n{end}")),
        Just(format!("{begin}\n{SECRET}\n\n{SECRET}\n{end}\n")),
        Just(format!("{begin}\n{SECRET}\n-----END {SECRET}-----\n")),
        Just(format!("{begin}\n{SECRET}{end}")),
    ]
}

/// Where secrets, or what is taken for one, belong.
const SECRET_FIELDS: [&str; 7] = [
    "token",
    "client-key",
    "client-key-data",
    "client-certificate",
    "client-certificate-data",
    "certificate-authority",
    "certificate-authority-data",
];

/// Without the fields for secrets: what is left are names, which errors repeat.
fn without_secrets(file: Value) -> Value {
    match file {
        Value::Object(fields) => {
            let others =
                fields.into_iter().filter(|(name, _)| !SECRET_FIELDS.contains(&name.as_str()));
            others.map(|(name, value)| (name, without_secrets(value))).collect()
        }
        Value::Array(all) => all.into_iter().map(without_secrets).collect(),
        value => value,
    }
}

/// Whether it is there as it is, or as a list of bytes.
fn has_secret(text: &str) -> bool {
    let bytes = format!("{:?}", SECRET.as_bytes());
    text.contains(SECRET) || text.contains(bytes.trim_matches(['[', ']']))
}

fn sample(server: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "hub",
        "clusters": [{ "name": "hub", "cluster": {
            "server": server, "certificate-authority-data": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSQo=",
            "tls-server-name": "hub.example", "insecure-skip-tls-verify": false,
        } }],
        "users": [{ "name": "member", "user": { "token": SECRET } }],
        "contexts": [{ "name": "hub", "context": { "cluster": "hub", "user": "member", "namespace": "n" } }],
    })
}

#[test]
fn a_kubeconfig_is_refused_or_its_connection_is_encrypted() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = prop_oneof![
        3 => Just("https://hub.example:6443".to_owned()),
        1 => Just("http://hub.example:8080".to_owned()),
        1 => "(https?://)?[a-z0-9@:/.\\[\\]-]{0,20}",
    ];
    let mutations = prop::collection::vec(any_mutation(), 0..4);
    let path =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("hub-{}", std::process::id()));
    let keys = (prop::option::of(key()), prop::option::of(key()));
    let paths = [
        ("users", "client-key"),
        ("users", "client-certificate"),
        ("clusters", "certificate-authority"),
    ];
    let named = prop::option::of(prop::sample::select(paths.to_vec()));
    check(
        SEEDS,
        96,
        &(server, mutations, any::<bool>(), keys, named),
        |(server, mutations, has_ca, keys, named)| {
            let mut file = sample(&server);
            if let Some(key) = keys.0 {
                let certificate = STANDARD.encode(certificates_to_pem(&[SECRET]));
                let user = &mut file["users"][0]["user"];
                user["client-certificate-data"] = json!(certificate);
                user["client-key-data"] = json!(STANDARD.encode(key));
            }
            // By mistake.
            if let Some(key) = keys.1 {
                let cluster = &mut file["clusters"][0]["cluster"];
                cluster["certificate-authority-data"] = json!(STANDARD.encode(key));
            }
            if !has_ca {
                let cluster = file["clusters"][0]["cluster"].as_object_mut().unwrap();
                cluster.remove("certificate-authority-data");
            }
            // A key may also be where its path belongs, or that of a certificate.
            if let Some((entry, field)) = named {
                let entry = &mut file[entry][0][entry.trim_end_matches('s')];
                entry.as_object_mut().unwrap().remove(&format!("{field}-data"));
                entry[field] = json!(SECRET.repeat(20));
            }
            for mutation in &mutations {
                mutation.apply(&mut file);
            }
            // One change copies a value to another place: the name of a context may be the token then.
            prop_assume!(!has_secret(&without_secrets(file.clone()).to_string()));
            std::fs::write(&path, file.to_string()).unwrap();
            let access = HubAccess::new(Some(path.clone()), false).unwrap();
            match runtime.block_on(access.connect()) {
                Ok(hub) => {
                    let url = hub.url.to_ascii_lowercase();
                    prop_assert!(url.starts_with("https:"), "{}", url);
                    // The context may have come to name another cluster: so each is asked.
                    let skips = |cluster: &Value| {
                        cluster["cluster"]["insecure-skip-tls-verify"] == Value::Bool(true)
                    };
                    let may_skip =
                        file["clusters"].as_array().is_some_and(|all| all.iter().any(skips));
                    prop_assert!(hub.is_verified || may_skip);
                    let must_skip =
                        file["clusters"].as_array().is_some_and(|all| all.iter().all(skips));
                    prop_assert!(!hub.is_verified || !must_skip, "{}", file);
                }
                Err(error) => {
                    let text = error.to_string();
                    prop_assert!(!has_secret(&text) && !text.contains('\n'), "{}", text);
                }
            }
            Ok(())
        },
    );
    std::fs::remove_file(&path).ok();
}
