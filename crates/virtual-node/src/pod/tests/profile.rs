//! The Pod Security Standards.

use super::*;

fn without(path: &[&str]) -> Value {
    let mut spec = spec();
    let (last, before) = path.split_last().unwrap();
    let mut at = &mut spec;
    for name in before {
        at = match name.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[*name],
        };
    }
    at.as_object_mut().unwrap().remove(*last);
    spec
}

/// What the strictest profile requires and the other does not.
#[test]
fn the_restricted_profile_requires_what_it_requires() {
    let context = "spec.containers[0].securityContext";
    for (path, field) in [
        (
            &["containers", "0", "securityContext", "allowPrivilegeEscalation"][..],
            "allowPrivilegeEscalation",
        ),
        (&["containers", "0", "securityContext", "capabilities"][..], "capabilities.drop"),
        (&["containers", "0", "securityContext"][..], "allowPrivilegeEscalation"),
        (&["securityContext", "runAsNonRoot"][..], "runAsNonRoot"),
        (&["securityContext", "seccompProfile"][..], "seccompProfile.type"),
        (&["securityContext"][..], "runAsNonRoot"),
    ] {
        let spec = without(path);
        let expected = Err(refusal(&format!("{context}.{field}"), Refusal::PodSecurity));
        assert_eq!(translated(spec.clone(), &terms()).map(|_| ()), expected, "{path:?}");
        assert!(translated(spec, &baseline()).is_ok(), "{path:?}");
    }
}

#[test]
fn containers_override_their_pod() {
    for (more, field) in [
        (
            json!({ "securityContext": { "runAsNonRoot": false } }),
            "spec.containers[0].securityContext.runAsNonRoot",
        ),
        (
            json!({ "containers": [{ "securityContext": { "runAsNonRoot": false } }] }),
            "spec.containers[0].securityContext.runAsNonRoot",
        ),
        (
            json!({ "containers": [{ "securityContext": { "runAsUser": 0 } }] }),
            "spec.containers[0].securityContext.runAsUser",
        ),
        (json!({ "securityContext": { "runAsUser": 0 } }), "spec.securityContext.runAsUser"),
        (
            json!({ "initContainers": [{ "name": "i" }] }),
            "spec.initContainers[0].securityContext.allowPrivilegeEscalation",
        ),
    ] {
        let expected = Err(refusal(field, Refusal::PodSecurity));
        assert_eq!(translated(over(spec(), &more), &terms()).map(|_| ()), expected);
    }
    // The Pod is against it, its only container is not: the standard looks at both.
    let both = json!({
        "containers": [{ "securityContext": { "runAsNonRoot": true } }],
        "securityContext": { "runAsNonRoot": false },
    });
    let expected = Err(refusal("spec.securityContext.runAsNonRoot", Refusal::PodSecurity));
    assert_eq!(translated(over(spec(), &both), &terms()).map(|_| ()), expected);
}

#[test]
fn the_baseline_allows_some_capabilities() {
    let with = |name: &str| {
        let more =
            json!({ "containers": [{ "securityContext": { "capabilities": { "add": [name] } } }] });
        over(spec(), &more)
    };
    assert!(translated(with("CHOWN"), &baseline()).is_ok());
    assert!(translated(with("CHOWN"), &terms()).is_err());
    assert!(translated(with("NET_BIND_SERVICE"), &terms()).is_ok());
    for bad in ["NET_ADMIN", "SYS_ADMIN", "ALL", "NET_RAW", "chown"] {
        assert!(translated(with(bad), &baseline()).is_err(), "{bad}");
    }
}
