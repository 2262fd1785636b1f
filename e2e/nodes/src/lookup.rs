//! What DNS answers, read from what programs print of it. Pure.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};

/// An answer of DNS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Records: addresses as they are, services as `<target>:<port>`, texts in their quotes.
    Records(BTreeSet<String>),
    /// The name exists, and has no record of the kind that was asked for.
    NoData,
    /// The name does not exist (NXDOMAIN).
    NoName,
}

impl Found {
    /// Records, by their content.
    pub fn records<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::Records(texts.into_iter().map(Into::into).collect())
    }

    /// What `nslookup` of busybox has printed.
    pub fn of_nslookup(text: &str) -> Result<Self> {
        // Before the first empty line it names the server that it asks; without data nothing follows, or that there is none.
        let parts = text.split_once("\n\n").filter(|(server, _)| server.starts_with("Server:"));
        let answer = parts.map(|(_, answer)| answer.trim());
        let records = answer.unwrap_or_default().lines().filter_map(nslookup_record).collect();
        let is_empty = answer.is_some_and(|rest| rest.is_empty() || rest.ends_with(": No answer"));
        Self::of_parts(text, records, text.contains(": NXDOMAIN"), is_empty)
    }

    /// What `dig +noall +comments +answer` has printed.
    pub fn of_dig(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(';'));
        let records = lines.filter_map(dig_record).collect();
        let has = |status: &str| text.contains(&format!("status: {status},"));
        Self::of_parts(text, records, has("NXDOMAIN"), has("NOERROR"))
    }

    /// Without records, the text has to name the answer: what names neither is none.
    fn of_parts(
        text: &str,
        records: BTreeSet<String>,
        no_name: bool,
        no_data: bool,
    ) -> Result<Self> {
        if !records.is_empty() {
            return Ok(Self::Records(records));
        }
        ensure!(no_name || no_data, "DNS gives no answer: {text}");
        Ok(if no_name { Self::NoName } else { Self::NoData })
    }
}

/// An address, the target and port of a service, or a text.
fn nslookup_record(line: &str) -> Option<String> {
    if let Some((_, service)) = line.split_once("service = ") {
        return service_record(service);
    }
    let text = line.split_once("text = ").map(|(_, text)| text);
    text.or_else(|| line.strip_prefix("Address: ")).map(|found| found.trim().to_owned())
}

/// After name, time to live and class: the kind, and the content of the record.
fn dig_record(line: &str) -> Option<String> {
    let mut fields = line.split_whitespace().skip(3);
    let kind = fields.next()?;
    let data = fields.collect::<Vec<_>>().join(" ");
    if kind == "SRV" { service_record(&data) } else { Some(data) }
}

/// Priority, weight, port and target.
fn service_record(data: &str) -> Option<String> {
    let mut words = data.split_whitespace().skip(2);
    let (port, target) = (words.next()?, words.next()?);
    Some(format!("{}:{port}", target.trim_end_matches('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "Server:\t\t10.96.0.10\nAddress:\t10.96.0.10:53\n\n";

    fn nslookup(answer: &str) -> Result<Found> {
        Found::of_nslookup(&format!("{SERVER}{answer}"))
    }

    fn dig(status: &str, answer: &str) -> Result<Found> {
        Found::of_dig(&format!(
            ";; Got answer:\n;; ->>HEADER<<- opcode: QUERY, status: {status}, id: 1\n\n;; ANSWER SECTION:\n{answer}\n"
        ))
    }

    #[test]
    fn the_address_of_the_server_is_no_record() {
        let found = nslookup("Name:\tweb.shop.svc.cluster.local\nAddress: 10.96.3.4\n\n");
        assert_eq!(found.unwrap(), Found::records(["10.96.3.4"]));
    }

    #[test]
    fn services_are_targets_with_ports() {
        let wanted = Found::records(["web.shop.svc.cluster.local:80"]);
        let record = "0 100 80 web.shop.svc.cluster.local";
        let found = nslookup(&format!("_http._tcp.web\tservice = {record}\n"));
        assert_eq!(found.unwrap(), wanted);
        let found = dig("NOERROR", &format!("_http._tcp.web. 5\tIN\tSRV\t{record}."));
        assert_eq!(found.unwrap(), wanted);
    }

    #[test]
    fn texts_keep_their_quotes() {
        let wanted = Found::records(["\"1.1.0\""]);
        assert_eq!(nslookup("dns-version.x\ttext = \"1.1.0\"\n").unwrap(), wanted);
        assert_eq!(dig("NOERROR", "dns-version.x. 5\tIN\tTXT\t\"1.1.0\"").unwrap(), wanted);
    }

    #[test]
    fn dig_reports_each_address() {
        let found = dig("NOERROR", "web. 5\tIN\tA\t10.0.0.1\nweb. 5\tIN\tA\t10.0.0.2");
        assert_eq!(found.unwrap(), Found::records(["10.0.0.1", "10.0.0.2"]));
    }

    #[test]
    fn a_name_without_records_of_a_kind_exists() {
        for answer in ["\n\n", "*** Can't find x: No answer\n"] {
            assert_eq!(nslookup(answer).unwrap(), Found::NoData, "{answer}");
        }
        assert_eq!(dig("NOERROR", "").unwrap(), Found::NoData);
    }

    #[test]
    fn a_name_that_does_not_exist_is_told_apart_from_silence() {
        assert_eq!(nslookup("** server can't find x: NXDOMAIN\n").unwrap(), Found::NoName);
        assert_eq!(dig("NXDOMAIN", "").unwrap(), Found::NoName);
        assert!(
            Found::of_nslookup(";; connection timed out; no servers could be reached\n\n").is_err()
        );
        assert!(nslookup("** server can't find x: SERVFAIL\n").is_err());
        assert!(dig("SERVFAIL", "").is_err() && Found::of_dig("").is_err());
    }
}
