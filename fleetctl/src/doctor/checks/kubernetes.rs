//! Which releases of Kubernetes this project is tested with, and what the older ones lack.

use crate::doctor::finding::{Finding, Outcome, known};
use crate::doctor::list::list;
use crate::doctor::seen::{Base, Hub, Seen};
use crate::doctor::subject::Subject;

/// Major and minor of a release.
type Release = (u64, u64);

/// The releases that the scenarios run on, of which the charts demand the first.
const OLDEST: Release = (1, 34);
const NEWEST: Release = (1, 36);

/// What a release has that this project uses, and what becomes of it in an older one.
struct Feature {
    since: Release,
    lacks: &'static str,
}

/// The newest last.
const FEATURES: [Feature; 1] = [Feature {
    since: (1, 35),
    lacks: "the promise that resource versions of one kind can be compared, on which agents rely all the same: API servers that store \
            in etcd number them",
}];

/// Whether the hub's Kubernetes is one that this project is tested with.
pub(super) fn of_hub(_: &Seen, hub: &Hub) -> Outcome {
    of(&hub.base)
}

/// Whether a member's is.
pub(super) fn of_member(member: &Subject<'_>) -> Outcome {
    of(&member.own.base)
}

fn of(base: &Base) -> Outcome {
    let Some(release) = *known(&base.kubernetes)? else {
        let what = "the API server does not name a release of Kubernetes";
        return Ok(vec![Finding::information(what, tested())]);
    };
    let name = format!("Kubernetes {}.{}", release.0, release.1);
    Ok(if release < OLDEST {
        let what =
            format!("{name} is older than {}.{}, the first that is supported", OLDEST.0, OLDEST.1);
        vec![Finding::failure(what, "upgrade its control plane before the agents")]
    } else if release > NEWEST {
        let what =
            format!("{name} is newer than {}.{}, the last that is tested", NEWEST.0, NEWEST.1);
        vec![Finding::information(what, tested())]
    } else {
        let lacks = list(FEATURES.iter().filter(|it| release < it.since).map(|it| it.lacks));
        let finding = |what| Finding::information(what, "docs/versions.md has what that means");
        (!lacks.is_empty()).then(|| finding(format!("{name} lacks {lacks}"))).into_iter().collect()
    })
}

fn tested() -> String {
    let (oldest, newest) = (OLDEST, NEWEST);
    format!(
        "this project is tested with {}.{} to {}.{}: look for a newer release of it",
        oldest.0, oldest.1, newest.0, newest.1
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::testing::{levels, sound, unread};

    #[test]
    fn releases_are_judged_by_what_is_tested() {
        let mut world = sound();
        assert_eq!((world.examine(of_member), world.examine_hub(of_hub)), (vec![], vec![]));
        for (release, level, words) in [
            (Some((1, 33)), "failure", "1.33 is older than 1.34"),
            (Some((0, 99)), "failure", "0.99 is older"),
            (Some((1, 34)), "information", "1.34 lacks the promise"),
            (Some((1, 37)), "information", "1.37 is newer than 1.36"),
            (Some((2, 0)), "information", "2.0 is newer"),
            (None, "information", "does not name a release"),
        ] {
            world.own().base.kubernetes = Ok(release);
            let found = world.examine(of_member);
            assert_eq!(levels(&found), [level], "{release:?}");
            assert!(found[0].what.contains(words), "{found:?}");
            world.hub().base.kubernetes = Ok(release);
            assert_eq!(world.examine_hub(of_hub), found);
        }
        world.own().base.kubernetes = Ok(Some((1, 35)));
        assert_eq!(world.examine(of_member), [], "it lacks nothing");
        world.own().base.kubernetes = Err(unread());
        assert_eq!(world.try_examine(of_member), Err(unread()));
    }

    #[test]
    fn every_feature_is_of_a_release_that_is_tested() {
        assert!(FEATURES.iter().all(|it| OLDEST < it.since && it.since <= NEWEST));
        assert!(FEATURES.is_sorted_by_key(|it| it.since));
    }
}
