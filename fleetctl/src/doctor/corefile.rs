//! The configuration of CoreDNS, as far as names in clusterset.local depend on it. Pure.
//!
//! The syntax is that of the CoreDNS manual, "Configuration": blocks of servers with the zones they answer, a plugin per line, and
//! options of a plugin in braces. What other files or snippets bring in by `import` is not seen.

use std::fmt;
use std::iter::Peekable;

/// The zone of names that all clusters share (KEP-1645, "DNS").
const CLUSTERSET: &str = "clusterset.local";
/// What every Corefile of Kubernetes serves.
const KUBERNETES: &str = "kubernetes";
/// The option of the plugin that answers with ServiceImports.
const MULTICLUSTER: &str = "multicluster";
/// The plugin that asks other servers: first the zone, then the servers, or a file that names those of the node.
const FORWARD: &str = "forward";
/// The directive that brings in another file.
const IMPORT: &str = "import";

/// Braces in braces: a server, a plugin, an option, and one more for plugins to come.
const DEPTH: usize = 4;

/// A plugin or an option, with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    words: Vec<Word<'a>>,
    block: Option<Block<'a>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Block<'a> {
    /// Where the text in the braces begins.
    begin: usize,
    directives: Vec<Directive<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word<'a> {
    text: &'a str,
    begin: usize,
    line: usize,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.begin + self.text.len()
    }

    /// The line in which it ends.
    fn last_line(&self) -> usize {
        self.line + lines(self.text)
    }

    fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { line: self.line, what }
    }
}

/// A text that CoreDNS would not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    line: usize,
    what: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Malformed {}

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
    /// If a brace has no partner, or nothing before it.
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        let mut words = words(text);
        let servers = directives(&mut words, &[])?;
        Ok(Self { text, servers })
    }

    /// What is wrong with it for names in clusterset.local, the worst first.
    pub fn flaws(&self) -> Vec<Flaw> {
        let Some(server) = self.server() else { return vec![Flaw::NoServer] };
        let Some(plugin) = server.option(KUBERNETES) else { return vec![Flaw::NoPlugin] };
        let zone = (!zones(server, plugin).into_iter().any(is_clusterset)).then_some(Flaw::NoZone);
        let reads = plugin.option(MULTICLUSTER).is_some_and(|it| it.arguments().any(is_clusterset));
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
            let option = format!("{MULTICLUSTER} {CLUSTERSET}");
            let indent = self.indent(plugin.words[0].begin);
            match &plugin.block {
                Some(block) => {
                    let next = self.text[block.begin..].lines().next().unwrap_or_default().trim();
                    // Options may begin in the line of the brace; each needs one of its own.
                    let is_last = next.is_empty() || next.starts_with('#');
                    let end = if is_last { String::new() } else { format!("\n{indent}   ") };
                    insert(&mut text, block.begin, &format!("\n{indent}    {option}{end}"));
                }
                None => insert(
                    &mut text,
                    plugin.words.last()?.end(),
                    &format!(" {{\n{indent}    {option}\n{indent}}}"),
                ),
            }
        }
        if self.flaws().contains(&Flaw::NoZone) {
            let (after, zones) = match plugin.words.get(1) {
                // Behind the first zone, which is that of the cluster.
                Some(first) => (first, vec![CLUSTERSET]),
                // It serves the zones of its server, which have to be named beside another one.
                None => (&plugin.words[0], [&server.zones()[..], &[CLUSTERSET]].concat()),
            };
            insert(&mut text, after.end(), &format!(" {}", zones.join(" ")));
        }
        Some(text)
    }

    /// Whether it brings in other files or snippets, which are not seen here.
    pub fn imports(&self) -> bool {
        let named = |directive: &Directive<'_>| directive.name() == IMPORT;
        self.servers.iter().any(|server| named(server) || server.option(IMPORT).is_some())
    }

    /// Whether a server of its own answers the zone by asking a DNS server, not those of the node.
    pub fn forwards_clusterset(&self) -> bool {
        let own = self.server().filter(|server| server.zone_length() == Some(CLUSTERSET.len()));
        let forward = own.and_then(|server| server.option(FORWARD));
        forward.is_some_and(|forward| {
            let mut targets = forward.arguments().skip(1).peekable();
            targets.peek().is_some() && !targets.any(|target| target.starts_with('/'))
        })
    }

    /// The server that answers the zone: the one with the longest zone that contains it, as CoreDNS chooses.
    fn server(&self) -> Option<&Directive<'a>> {
        let answers = |server: &&Directive<'a>| server.zone_length();
        self.servers
            .iter()
            .filter_map(|server| Some((answers(&server)?, server)))
            .max_by_key(|(length, _)| *length)
            .map(|(_, server)| server)
    }

    /// The blanks before a place in its line.
    fn indent(&self, at: usize) -> &'a str {
        let begin = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[begin..at];
        &line[..line.len() - line.trim_start().len()]
    }
}

impl<'a> Directive<'a> {
    fn option(&self, name: &str) -> Option<&Self> {
        self.block.as_ref()?.directives.iter().find(|directive| directive.name() == name)
    }

    /// Its first word; there is always one.
    fn name(&self) -> &'a str {
        unquoted(self.words[0].text)
    }

    fn arguments(&self) -> impl Iterator<Item = &'a str> {
        self.words.iter().skip(1).map(|word| unquoted(word.text))
    }

    /// The zones of a server; `.` is all.
    fn zones(&self) -> Vec<&'a str> {
        let addresses = self.words.iter().flat_map(|word| word.text.split(','));
        addresses.filter_map(zone_of).map(|zone| if zone.is_empty() { "." } else { zone }).collect()
    }

    /// The length of the longest of a server's zones that contains clusterset.local.
    fn zone_length(&self) -> Option<usize> {
        self.zones()
            .into_iter()
            .map(|zone| zone.trim_end_matches('.'))
            .filter(|zone| zone.is_empty() || *zone == CLUSTERSET || *zone == "local")
            .map(str::len)
            .max()
    }
}

/// Inserts words. What comes next may be a word that begins right behind a quote.
fn insert(text: &mut String, at: usize, words: &str) {
    let is_apart = text[at..].chars().next().is_none_or(char::is_whitespace);
    text.insert_str(at, if is_apart { "" } else { " " });
    text.insert_str(at, words);
}

/// The zone of a server's address such as `dns://clusterset.local.:53`; `None` for another protocol than plain DNS, for a snippet, and
/// for what is no name.
fn zone_of(address: &str) -> Option<&str> {
    let address = unquoted(address);
    if address.is_empty() || address.starts_with('(') {
        return None;
    }
    let address = match address.split_once("://") {
        Some(("dns", rest)) => rest,
        Some(_) => return None,
        None => address,
    };
    let zone = address.rsplit_once(':').map_or(address, |(zone, _)| zone);
    // A word in quotes may be anything, also what ends in another line.
    let is_name = |zone: &&str| !zone.contains(['"', '#']) && !zone.contains(char::is_whitespace);
    Some(zone.trim_end_matches('.')).filter(is_name)
}

/// The zones that a plugin serves: those that it names, or else those of its server.
fn zones<'a>(server: &Directive<'a>, plugin: &Directive<'a>) -> Vec<&'a str> {
    let named: Vec<_> = plugin.arguments().collect();
    if named.is_empty() { server.zones() } else { named }
}

fn is_clusterset(zone: &str) -> bool {
    zone.trim_end_matches('.') == CLUSTERSET
}

/// Reads directives up to the brace that ends them, or to the end of the text. `open` are the braces around them.
fn directives<'a>(
    words: &mut Words<'a>,
    open: &[Word<'a>],
) -> Result<Vec<Directive<'a>>, Malformed> {
    let mut directives = Vec::new();
    loop {
        match (words.next(), open.last()) {
            (None, None) => return Ok(directives),
            (None, Some(open)) => return Err(open.malformed("this brace is not closed")),
            (Some(word), None) if word.text == "}" => {
                return Err(word.malformed("no brace is open"));
            }
            (Some(word), Some(_)) if word.text == "}" => return Ok(directives),
            (Some(word), _) if word.text == "{" => {
                return Err(word.malformed("this brace has nothing before it"));
            }
            (Some(first), _) => directives.push(directive(first, words, open)?),
        }
    }
}

/// Reads the rest of a directive. The addresses of a server may take more than a line.
fn directive<'a>(
    first: Word<'a>,
    words: &mut Words<'a>,
    open: &[Word<'a>],
) -> Result<Directive<'a>, Malformed> {
    let mut directive = Directive { words: vec![first], block: None };
    let mut line = first.last_line();
    let belongs =
        |line, word: &Word<'a>| word.text != "}" && (open.is_empty() || word.line == line);
    while let Some(word) = words.next_if(|word| belongs(line, word)) {
        if word.text == "{" {
            if open.len() == DEPTH {
                return Err(word.malformed("too many braces in braces"));
            }
            let directives = directives(words, &[open, &[word]].concat())?;
            directive.block = Some(Block { begin: word.end(), directives });
            break;
        }
        line = word.last_line();
        directive.words.push(word);
    }
    Ok(directive)
}

type Words<'a> = Peekable<std::vec::IntoIter<Word<'a>>>;

/// The words of a text, without comments, as the lexer of CoreDNS finds them. A word in quotes keeps them, since none that matters here is
/// in quotes; it may have several lines, and ends with the text if nothing else ends it.
fn words(text: &str) -> Words<'_> {
    let mut words = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match first {
            '"' => quoted(rest).unwrap_or(rest.len()),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            _ if first.is_whitespace() => first.len_utf8(),
            _ => rest.find(char::is_whitespace).unwrap_or(rest.len()),
        };
        let whole = &rest[..length];
        // Within a word it hides what follows it there, and not the rest of the line.
        let word = if first == '"' { whole } else { whole.split('#').next().unwrap_or_default() };
        if !word.trim().is_empty() {
            words.push(Word { text: word, begin: at, line });
        }
        line += lines(whole);
        at += length;
    }
    words.into_iter().peekable()
}

/// How many lines end in a text.
fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// A word without the quotes around it.
fn unquoted(word: &str) -> &str {
    let inside = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
    inside.unwrap_or(word)
}

/// Where a word in quotes ends.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, letter)| {
        let ends = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        ends
    });
    end.map(|(at, _)| at + 1)
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
        assert_eq!(error, "line 1: this brace is not closed");
        let in_line = ". {\n kubernetes local { labels a }\n}";
        let hides = [Flaw::Hides("labels")];
        assert_eq!(flaws(&mended(in_line)), hides, "{}", mended(in_line));
        let adjacent = ". {\n kubernetes \"a\"b\n}";
        assert_eq!(flaws(&mended(adjacent)), [], "{}", mended(adjacent));
        let nameless = Corefile::parse("{ local:53 { kubernetes }").unwrap_err().to_string();
        assert_eq!(nameless, "line 1: this brace has nothing before it");
        let text = ". {\n kubernetes \"a\n# b\" local # c\n ready#d {\n }\n}";
        let expected = ". {\n kubernetes \"a\n# b\" clusterset.local local {\n     multicluster clusterset.local\n } # c\n ready#d {\n }\n}";
        assert_eq!(mended(text), expected);
        assert_eq!(flaws(expected), []);
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
        let deep = "a {\n".repeat(100_000);
        assert_eq!(of(&deep), "line 5: too many braces in braces");
        assert_eq!(flaws(""), [Flaw::NoServer]);
        assert_eq!(
            flaws(". {\n log . \"{remote} # \\\" }\" {\n }\n kubernetes\n}"),
            [Flaw::NoZone, Flaw::NoOption]
        );
    }
}
