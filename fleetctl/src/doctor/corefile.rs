//! The configuration of CoreDNS, as far as names in clusterset.local depend on it. Pure.
//!
//! The syntax is that of the CoreDNS manual, "Configuration": blocks of servers with the zones they answer, a plugin per line, and
//! options of a plugin in braces. What other files or snippets bring in by `import`, and what variables contain, is not seen.

mod parser;

pub use parser::Malformed;
use parser::{Directive, IMPORT};

/// The zone of names that all clusters share (KEP-1645, "DNS").
const CLUSTERSET: &str = "clusterset.local";
/// The zone around it.
const LOCAL: &str = "local";
/// What every Corefile of Kubernetes serves.
const KUBERNETES: &str = "kubernetes";
/// The option of the plugin that answers with ServiceImports.
const MULTICLUSTER: &str = "multicluster";
/// The plugin that asks other servers: first the zone, then the servers, or a file that names those of the node.
const FORWARD: &str = "forward";
/// The port of DNS.
const PORT: &str = "53";
/// How variables begin.
const VARIABLES: [&str; 2] = ["{$", "{%"];

/// What keeps names in clusterset.local from being answered as they should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// No server answers the zone.
    NoServer,
    /// The server that does has no plugin `kubernetes`.
    NoPlugin,
    /// The plugin does not serve the zone.
    NoZone,
    /// The plugin does not read ServiceImports.
    NoOption,
    /// An option that keeps names from being answered.
    Hides(&'static str),
    /// Names without ready endpoints do not exist.
    EmptyIsNothing,
}

/// A whole Corefile: its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corefile<'a> {
    text: &'a str,
    servers: Vec<Directive<'a>>,
}

impl<'a> Corefile<'a> {
    /// Reads a Corefile.
    ///
    /// # Errors
    /// If a brace or a quote has no partner, or a brace nothing before it.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        Ok(Self { text, servers: parser::servers(text)? })
    }

    /// What is wrong with it for names in clusterset.local, the worst first.
    pub fn flaws(&self) -> Vec<Flaw> {
        let Some(server) = self.server() else { return vec![Flaw::NoServer] };
        let Some(plugin) = server.option(KUBERNETES) else { return vec![Flaw::NoPlugin] };
        let zone = (!zones(server, plugin).into_iter().any(is_clusterset)).then_some(Flaw::NoZone);
        // Of several, CoreDNS takes the last one.
        let read = plugin.options(MULTICLUSTER).last();
        let reads = read.is_some_and(|it| it.arguments().any(is_clusterset));
        let option = (!reads).then_some(Flaw::NoOption);
        let hides = ["namespace_labels", "labels", "namespaces"]
            .into_iter()
            .filter(|name| plugin.option(name).is_some())
            .map(Flaw::Hides);
        let empty = plugin
            .option("ignore")
            .is_some_and(|it| it.arguments().any(|it| it == "empty_service"));
        let empty = empty.then_some(Flaw::EmptyIsNothing);
        zone.into_iter().chain(option).chain(hides).chain(empty).collect()
    }

    /// The same text, with what names in clusterset.local need; `None` if no server has the plugin `kubernetes`.
    pub fn with_clusterset(&self) -> Option<String> {
        let server = self.server()?;
        let plugin = server.option(KUBERNETES)?;
        let mut text = self.text.to_owned();
        // From the end to the beginning, so that positions stay.
        if self.flaws().contains(&Flaw::NoOption) {
            let (at, option) = self.option_to_add(plugin)?;
            insert(&mut text, at, &option);
        }
        if self.flaws().contains(&Flaw::NoZone) {
            let (after, zones) = match plugin.words.get(1) {
                // Behind the first zone, which is that of the cluster.
                Some(first) => (first, vec![CLUSTERSET]),
                // It serves the zones of its server, which have to be named beside another one.
                None => (&plugin.words[0], [&server.zones()[..], &[CLUSTERSET]].concat()),
            };
            insert(&mut text, after.end, &format!(" {}", zones.join(" ")));
        }
        Some(text)
    }

    /// What makes the plugin read ServiceImports, and where it belongs.
    fn option_to_add(&self, plugin: &Directive<'a>) -> Option<(usize, String)> {
        if let Some(other) = plugin.options(MULTICLUSTER).last() {
            return Some((other.words.last()?.end, format!(" {CLUSTERSET}")));
        }
        let option = format!("{MULTICLUSTER} {CLUSTERSET}");
        let indent = self.indent(plugin.words[0].begin);
        let Some(block) = &plugin.block else {
            let option = format!(" {{\n{indent}    {option}\n{indent}}}");
            return Some((plugin.words.last()?.end, option));
        };
        let next = self.text[block.begin..].lines().next().unwrap_or_default().trim();
        // Options may begin in the line of the brace; each needs one of its own.
        let is_last = next.is_empty() || next.starts_with('#');
        let end = if is_last { String::new() } else { format!("\n{indent}   ") };
        Some((block.begin, format!("\n{indent}    {option}{end}")))
    }

    /// Whether a part of it is elsewhere, in other files, snippets or variables.
    pub fn imports(&self) -> bool {
        let has_variable = |text: &str| VARIABLES.iter().any(|begin| text.contains(begin));
        let addresses = self.servers.iter().flat_map(|server| &server.words);
        self.servers.iter().any(Directive::imports)
            || addresses.into_iter().any(|address| has_variable(address.text))
    }

    /// Whether a server of its own answers the zone by asking a DNS server, not those of the node.
    pub fn forwards_clusterset(&self) -> bool {
        let own =
            self.server().filter(|server| server.zone_length(false) == Some(CLUSTERSET.len()));
        let forward = own.and_then(|server| server.option(FORWARD));
        forward.is_some_and(|forward| {
            let mut targets = forward.arguments().skip(1).peekable();
            targets.peek().is_some() && !targets.any(|target| target.starts_with('/'))
        })
    }

    /// The server that answers the zone: the one with the longest zone that contains it, as CoreDNS chooses. If none does at the port of
    /// DNS, a Service may lead to another one.
    fn server(&self) -> Option<&Directive<'a>> {
        let answers = |only_usual| {
            // The name of a file may be that of a zone.
            let servers = self.servers.iter().filter(|server| server.name() != IMPORT);
            let servers =
                servers.filter_map(|server| Some((server.zone_length(only_usual)?, server)));
            servers.max_by_key(|(length, server)| (*length, server.option(KUBERNETES).is_some()))
        };
        answers(true).or_else(|| answers(false)).map(|(_, server)| server)
    }

    /// The blanks before a place in its line.
    fn indent(&self, at: usize) -> &'a str {
        let begin = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[begin..at];
        &line[..line.len() - line.trim_start().len()]
    }
}

impl<'a> Directive<'a> {
    fn options(&self, name: &str) -> impl DoubleEndedIterator<Item = &Self> {
        let options = self.block.iter().flat_map(|block| &block.directives);
        options.filter(move |directive| directive.name() == name)
    }

    fn option(&self, name: &str) -> Option<&Self> {
        self.options(name).next()
    }

    /// Its first word; there is always one.
    fn name(&self) -> &'a str {
        self.words[0].text
    }

    fn arguments(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().skip(1).map(|word| word.text)
    }

    fn imports(&self) -> bool {
        let mut inside = self.block.iter().flat_map(|block| &block.directives);
        self.name() == IMPORT || inside.any(Self::imports)
    }

    fn addresses(&self) -> impl Iterator<Item = Address<'a>> {
        let texts = self.words.iter().flat_map(|word| word.text.split(','));
        texts.filter_map(Address::parse)
    }

    /// The zones of a server; `.` is all.
    fn zones(&self) -> Vec<&'a str> {
        self.addresses().map(|it| if it.zone.is_empty() { "." } else { it.zone }).collect()
    }

    /// The length of the longest of a server's zones that contains clusterset.local.
    fn zone_length(&self, only_usual: bool) -> Option<usize> {
        let answers = |it: &Address<'_>| {
            let same = |zone: &str| it.zone.eq_ignore_ascii_case(zone);
            (it.is_usual || !only_usual) && (it.zone.is_empty() || same(CLUSTERSET) || same(LOCAL))
        };
        self.addresses().filter(answers).map(|it| it.zone.len()).max()
    }
}

/// An address that a server answers at.
struct Address<'a> {
    /// Without a dot at its end: that of all names is empty.
    zone: &'a str,
    /// Whether its port is that of DNS.
    is_usual: bool,
}

impl<'a> Address<'a> {
    /// Reads one such as `dns://clusterset.local.:53`; `None` for another protocol than plain DNS, for a snippet, and for what is no name.
    fn parse(text: &'a str) -> Option<Self> {
        if text.is_empty() || text.starts_with('(') {
            return None;
        }
        let text = match text.split_once("://") {
            Some(("dns", rest)) => rest,
            Some(_) => return None,
            None => text,
        };
        let (zone, port) = text.rsplit_once(':').unwrap_or((text, PORT));
        // A word in quotes may be anything, also what ends in another line.
        let is_name = !zone.contains(['"', '#']) && !zone.contains(char::is_whitespace);
        is_name.then(|| Self { zone: zone.trim_end_matches('.'), is_usual: port == PORT })
    }
}

/// All words of a Corefile that CoreDNS reads, for tests.
pub fn words(text: &str) -> Vec<&str> {
    parser::words(text).into_iter().map(|word| word.text).collect()
}

/// Inserts words. What comes next may be a word that begins right behind a quote.
fn insert(text: &mut String, at: usize, words: &str) {
    let is_apart = text[at..].chars().next().is_none_or(char::is_whitespace);
    text.insert_str(at, if is_apart { "" } else { " " });
    text.insert_str(at, words);
}

/// The zones that a plugin serves: those that it names, or else those of its server.
fn zones<'a>(server: &Directive<'a>, plugin: &Directive<'a>) -> Vec<&'a str> {
    let named: Vec<_> = plugin.arguments().collect();
    if named.is_empty() { server.zones() } else { named }
}

fn is_clusterset(zone: &str) -> bool {
    zone.trim_end_matches('.').eq_ignore_ascii_case(CLUSTERSET)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As kubeadm 1.36 writes it.
    const USUAL: &str = "\
.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30 {
       disable success cluster.local
       disable denial cluster.local
    }
    loop
    reload
    loadbalance
}
";

    fn flaws(text: &str) -> Vec<Flaw> {
        Corefile::parse(text).unwrap().flaws()
    }

    fn mended(text: &str) -> String {
        Corefile::parse(text).unwrap().with_clusterset().unwrap()
    }

    #[test]
    fn the_usual_one_lacks_zone_and_option() {
        assert_eq!(flaws(USUAL), [Flaw::NoZone, Flaw::NoOption]);
        let expected = USUAL
            .replace("cluster.local in-addr.arpa ip6.arpa {", "cluster.local clusterset.local in-addr.arpa ip6.arpa {\n        multicluster clusterset.local");
        assert_eq!(mended(USUAL), expected);
        assert_eq!(flaws(&expected), []);
        assert_eq!(mended(&expected), expected, "there is nothing to do");
    }

    #[test]
    fn a_plugin_without_options_gets_a_block() {
        let text = ". {\n\tkubernetes cluster.local # ours\n\tready\n}";
        let expected = ". {\n\tkubernetes cluster.local clusterset.local {\n\t    multicluster clusterset.local\n\t} # ours\n\tready\n}";
        assert_eq!(mended(text), expected);
        assert_eq!(flaws(expected), []);
    }

    #[test]
    fn the_server_is_that_of_the_longest_zone() {
        let text =
            ". {\n forward . 8.8.8.8\n}\ncluster.local:53, clusterset.local.:53 {\n kubernetes\n}";
        assert_eq!(flaws(text), [Flaw::NoOption], "the plugin serves the zones of its server");
        let only_cluster = "cluster.local {\n kubernetes cluster.local\n}";
        assert_eq!(flaws(only_cluster), [Flaw::NoServer]);
        let elsewhere = "tls://.:853 {\n kubernetes cluster.local\n}\n. {\n forward . 8.8.8.8\n}";
        assert_eq!(flaws(elsewhere), [Flaw::NoPlugin]);
    }

    /// Found by chance: what is no name was printed among the zones.
    #[test]
    fn quotes_are_no_part_of_a_zone() {
        let text = "\"local:53\" \"#x\" {$DOMAIN}:53 \"a \\\" b {\"\n{\n \"kubernetes\"\n}";
        let expected = text.replace(
            "\"kubernetes\"\n",
            "\"kubernetes\" local {$DOMAIN} clusterset.local {\n     multicluster clusterset.local\n }\n",
        );
        assert_eq!(mended(text), expected);
        assert_eq!(flaws(&expected), []);
        let quoted =
            ". {\n kubernetes \"clusterset.local.\" {\n  multicluster \"clusterset.local\"\n }\n}";
        assert_eq!(flaws(quoted), []);
    }

    /// Found by chance: what was put behind such a word was inside its quotes.
    #[test]
    fn quotes_end_where_corednss_lexer_ends_them() {
        let open = ". {\n kubernetes \"a \\\" b {\n}\n";
        let error = Corefile::parse(open).unwrap_err().to_string();
        assert_eq!(error, "line 2: this quote is not closed");
        let in_line = ". {\n kubernetes local { labels a }\n}";
        let hides = [Flaw::Hides("labels")];
        assert_eq!(flaws(&mended(in_line)), hides, "{}", mended(in_line));
        let adjacent = ". {\n kubernetes \"a\"b\n}";
        assert_eq!(flaws(&mended(adjacent)), [], "{}", mended(adjacent));
        let text = ". {\n kubernetes \"a\n# b\" local # c\n ready#d {\n }\n}";
        let expected = ". {\n kubernetes \"a\n# b\" clusterset.local local {\n     multicluster clusterset.local\n } # c\n ready#d {\n }\n}";
        assert_eq!(mended(text), expected);
        assert_eq!(flaws(expected), []);
    }

    /// Within a word `#` hides the rest of the word.
    #[test]
    fn what_is_hidden_in_a_word_stays_there() {
        for (text, expected) in [
            (
                ". {\n kubernetes a#x {#y\n }\n}",
                ". {\n kubernetes a#x clusterset.local {#y\n     multicluster clusterset.local\n }\n}",
            ),
            (
                ". {\n kubernetes a#b c\n}",
                ". {\n kubernetes a#b clusterset.local c {\n     multicluster clusterset.local\n }\n}",
            ),
            (
                ". {\n kubernetes a {#c labels a\n }\n}",
                ". {\n kubernetes a clusterset.local {#c\n     multicluster clusterset.local\n     labels a\n }\n}",
            ),
        ] {
            assert_eq!(mended(text), expected);
            assert!(!flaws(expected).contains(&Flaw::NoOption), "{expected}");
        }
    }

    #[test]
    fn the_only_server_needs_no_braces() {
        let text =
            "# all\n.:53\nkubernetes clusterset.local {\n multicluster clusterset.local\n}\n";
        assert_eq!(flaws(text), []);
        let next_line = ".:53,\n local\n{\n kubernetes\n {\n ttl 5\n }\n}";
        assert_eq!(flaws(next_line), [Flaw::NoZone, Flaw::NoOption]);
        assert_eq!(flaws(&mended(next_line)), []);
    }

    #[test]
    fn what_is_no_server_hides_none() {
        let server =
            ".:53 {\n kubernetes clusterset.local {\n multicluster clusterset.local\n }\n}\n";
        for other in [
            "import custom/*.server\n",
            "import local\n",
            "{\n log\n}\n",
            "\u{feff}",
            "(a) {\n log\n}\n",
            "alone\n{\n}\n",
        ] {
            assert_eq!(flaws(&format!("{other}{server}")), [], "{other}");
        }
        let elsewhere = format!("{server}.:5353 {{\n forward . 8.8.8.8\n}}\nlocal:5353 {{\n}}");
        assert_eq!(flaws(&elsewhere), [], "another port");
        assert_eq!(flaws(&server.replace(":53", ":5353")), [], "the only port");
        let loud = server.replace(".:53", "ClusterSet.Local").replace("{\n m", "{\n  m");
        assert_eq!(flaws(&format!("{loud}.:53 {{\n}}")), [], "names have no case");
    }

    /// CoreDNS takes the last one, and not all.
    #[test]
    fn zones_of_other_clusters_stay() {
        let text =
            ". {\n kubernetes {\n  multicluster a.local\n  multicluster b.local # two\n }\n}";
        let expected = text.replace("b.local", "b.local clusterset.local");
        let expected = expected.replace("kubernetes", "kubernetes . clusterset.local");
        assert_eq!(mended(text), expected);
        assert_eq!(flaws(&expected), []);
    }

    #[test]
    fn a_plugin_keeps_the_zones_that_it_has_of_its_server() {
        let of = |server: &str| mended(&format!("{server} {{\n kubernetes\n}}"));
        let named =
            |zones: &str| format!(" kubernetes{zones} {{\n     multicluster clusterset.local\n }}");
        for (server, zones) in [
            (".", " . clusterset.local"),
            ("cluster.local:53, local", " cluster.local local clusterset.local"),
            ("cluster.local, clusterset.local.:53", ""),
        ] {
            let expected = format!("{server} {{\n{}\n}}", named(zones));
            assert_eq!(of(server), expected);
            assert_eq!(flaws(&expected), []);
        }
    }

    #[test]
    fn what_other_files_bring_in_is_noticed() {
        let imports = |text: &str| Corefile::parse(text).unwrap().imports();
        assert!(imports("import custom/*.server\n. {\n kubernetes\n}"));
        assert!(imports(". {\n import snippet\n}"));
        assert!(imports(". {\n kubernetes {\n import options\n }\n}"));
        assert!(imports("{$DOMAIN}:53 {\n kubernetes\n}"));
        assert!(!imports(USUAL));
    }

    #[test]
    fn options_that_hide_names_are_found() {
        let text = ". {\n kubernetes clusterset.local {\n multicluster clusterset.local\n ignore empty_service\n namespaces shop\n labels a=b\n }\n}";
        assert_eq!(
            flaws(text),
            [Flaw::Hides("labels"), Flaw::Hides("namespaces"), Flaw::EmptyIsNothing]
        );
    }

    #[test]
    fn braces_without_a_partner_are_errors() {
        let of = |text: &str| Corefile::parse(text).unwrap_err().to_string();
        assert_eq!(of(". {\n kubernetes {\n}\n"), "line 1: this brace is not closed");
        assert_eq!(of(". {\n}\n}\n"), "line 3: no brace is open");
        assert_eq!(of(". {\n {\n }\n}\n"), "line 2: this brace has nothing before it");
        let deep = "a {\n".repeat(100_000);
        assert_eq!(of(&deep), "line 5: too many braces in braces");
        assert_eq!(flaws(""), [Flaw::NoServer]);
        assert_eq!(
            flaws(". {\n log . \"{remote} # \\\" }\" {\n }\n kubernetes\n}"),
            [Flaw::NoZone, Flaw::NoOption]
        );
    }
}
