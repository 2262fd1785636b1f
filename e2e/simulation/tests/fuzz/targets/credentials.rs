//! Tokens, certificates and kubeconfigs.

use std::path::Path;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use fleet_runtime::clients::{self, HubAccess, HubSettings, certificates_to_pem, require_encryption, shown};
use fleet_runtime::credential::Claims;
use futures::FutureExt as _;
use tokio::runtime::Runtime;

use super::Target;

pub(crate) const TARGET: Target = Target {
    name: "credentials",
    is_json: false,
    short: 60,
    // A client reads the roots of the machine.
    bound: None,
    examples,
    read,
};

/// A kubeconfig, with everything in it.
const KUBECONFIG: &str = "apiVersion: v1
kind: Config
current-context: hub
clusters: [{ name: hub, cluster: { server: https://hub.example.com:6443, insecure-skip-tls-verify: true } }]
users: [{ name: me, user: { token: abc.def.ghi } }]
contexts: [{ name: hub, context: { cluster: hub, user: me, namespace: team } }]
";

fn examples() -> Vec<Vec<u8>> {
    let payload = r#"{"exp":1900000000,"iat":1800000000,"sub":"system:serviceaccount:team:web","aud":["a","b"]}"#;
    let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(payload));
    let pem = certificates_to_pem(&[[0x30; 300], [1; 300]]);
    [token, pem, KUBECONFIG.to_owned(), "https://user:secret@hub:6443/path?token=x".to_owned()]
        .map(String::into_bytes)
        .to_vec()
}

fn read(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    claims(&text);
    certificates(input);
    if let Ok(address) = text.trim().parse() {
        require_encryption(&address).ok();
    }
    // What is shown of an address has no password.
    assert!(!shown(&text).contains(":secret@"), "{}", shown(&text));
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    RUNTIME.block_on(async { connect(input).await });
}

fn claims(text: &str) {
    // A token, and a payload in one.
    let wrapped = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(text));
    for claims in [Claims::of(text), Claims::of(&wrapped)].into_iter().flatten() {
        if let Some(account) = claims.account {
            assert!(!account.namespace.is_empty() && !account.name.is_empty(), "{account:?}");
        }
    }
}

fn certificates(input: &[u8]) {
    let written = certificates_to_pem(&[input]);
    let read = pem::parse_many(&written).unwrap();
    assert_eq!(read.len(), 1);
    assert_eq!(read[0].contents(), input);
}

/// Builds clients from a kubeconfig, and from a certificate; none connects.
async fn connect(input: &[u8]) {
    let path = std::env::temp_dir().join(format!("fleet-fuzz-{}", std::process::id()));
    std::fs::write(&path, input).unwrap();
    clients::own(Some(&path)).now_or_never();
    HubAccess::new(Some(path.clone()), false).unwrap().connect().now_or_never();
    for ca in [String::from_utf8_lossy(input).into_owned(), STANDARD.encode(input)] {
        let settings = HubSettings {
            url: "https://hub:6443".to_owned(),
            token_path: path.clone(),
            ca_pem_base64: Some(ca),
            headers: Vec::new(),
            insecure: false,
        };
        HubAccess::Variables(settings).connect().now_or_never();
    }
    remove(&path);
}

fn remove(path: &Path) {
    std::fs::remove_file(path).unwrap();
}
