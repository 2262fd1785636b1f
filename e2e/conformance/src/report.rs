//! What the suite reports. Pure.

use std::fmt;

use anyhow::{Context, Result};
use serde::Deserialize;

/// The report of a run, as far as it is looked at.
#[derive(Debug, Deserialize)]
pub(super) struct Report {
    passed: usize,
    total: usize,
    /// Why nothing was run, if that is so.
    #[serde(default, rename = "suitefailure")]
    failure: String,
    #[serde(default)]
    groups: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    tests: Vec<Case>,
}

#[derive(Debug, Deserialize)]
struct Case {
    desc: String,
    passed: bool,
    #[serde(default)]
    skipped: bool,
    #[serde(default)]
    message: String,
}

impl Case {
    /// Whether it was to pass and has not. One that the user's filter leaves out has no message.
    fn is_missed(&self) -> bool {
        !self.passed && (!self.skipped || !self.message.is_empty())
    }
}

impl Report {
    pub(super) fn read(text: &str) -> Result<Self> {
        serde_saphyr::from_str(text).context("it is not what the suite writes")
    }

    /// Whether there are cases, and all have passed.
    pub(super) fn is_passed(&self) -> bool {
        self.failure.is_empty() && self.total > 0 && self.passed == self.total
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} cases have passed", self.passed, self.total)?;
        if !self.failure.is_empty() {
            write!(f, "\n  {}", self.failure)?;
        }
        let cases = self.groups.iter().flat_map(|group| &group.tests);
        for case in cases.filter(|case| case.is_missed()) {
            write!(f, "\n  {}{}", case.desc, case.message)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(passed: usize, second: &str) -> Report {
        let text = format!(
            "groups:\n\
             - name: Required\n  tests:\n\
             \x20   - desc: one\n      ref: https://example.com\n      labels: []\n      passed: true\n      failed: false\n      skipped: false\n      conformant: true\n      message: \"\"\n\
             \x20   - desc: two\n      ref: \"\"\n      labels: [DNS]\n{second}\
             suitefailure: \"\"\ndnsdomain: clusterset.local\npassed: {passed}\ntotal: 2\n\
             implementation:\n  organization: \"\"\n  project: p\n  version: v\n  url: \"\"\n"
        );
        Report::read(&text).unwrap()
    }

    #[test]
    fn all_cases_have_to_pass() {
        let all = report(2, "      passed: true\n");
        assert!(all.is_passed());
        assert_eq!(all.to_string(), "2 of 2 cases have passed");
    }

    #[test]
    fn a_case_that_fails_is_named_with_its_message() {
        let one = report(1, "      passed: false\n      message: ' - no address'\n");
        assert!(!one.is_passed());
        assert_eq!(one.to_string(), "1 of 2 cases have passed\n  two - no address");
    }

    #[test]
    fn what_a_filter_leaves_out_is_not_passed_and_not_named() {
        let one = report(1, "      passed: false\n      skipped: true\n");
        assert!(!one.is_passed());
        assert_eq!(one.to_string(), "1 of 2 cases have passed");
    }

    #[test]
    fn a_suite_that_has_run_nothing_has_not_passed() {
        let none = Report::read("passed: 0\ntotal: 0\nsuitefailure: no API\n").unwrap();
        assert!(!none.is_passed());
        assert_eq!(none.to_string(), "0 of 0 cases have passed\n  no API");
        assert!(Report::read("<html>").is_err());
    }
}
