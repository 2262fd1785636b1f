//! Host names, zones and executors of endpoints in one allocation.

use fleet_api::Endpoint;

/// Separates host name, zone and executor.
const NEXT: char = ' ';
/// Terminates each endpoint.
const END: char = '\n';

/// Host names, zones and executors of endpoints, in their order; no allocation where no endpoint has any. API servers reject those
/// with a blank or a line feed in EndpointSlices, and [`EndpointDetails::of`] drops them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::objects) struct EndpointDetails(Box<str>);

/// Builds [`EndpointDetails`].
#[derive(Debug, Default)]
pub(in crate::objects) struct Builder {
    text: String,
    /// Whether any endpoint has details.
    any: bool,
}

impl Builder {
    /// Adds an endpoint.
    pub(in crate::objects) fn push(
        &mut self,
        hostname: Option<&str>,
        zone: Option<&str>,
        executor: Option<&str>,
    ) {
        self.any |= hostname.is_some() || zone.is_some() || executor.is_some();
        self.text.push_str(plain(hostname));
        self.text.push(NEXT);
        self.text.push_str(plain(zone));
        // Few endpoints have one.
        if let Some(executor) = executor {
            self.text.push(NEXT);
            self.text.push_str(plain(Some(executor)));
        }
        self.text.push(END);
    }

    /// The details of these endpoints, and of `others` after them.
    pub(in crate::objects) fn finish(mut self, others: &Self) -> EndpointDetails {
        if !self.any && !others.any {
            return EndpointDetails::default();
        }
        self.text.push_str(&others.text);
        EndpointDetails(self.text.into())
    }
}

impl EndpointDetails {
    pub(in crate::objects) fn of<'a>(endpoints: impl Iterator<Item = &'a Endpoint>) -> Self {
        let mut details = Builder::default();
        for endpoint in endpoints {
            let Endpoint { addresses: _, hostname, zone, executor } = endpoint;
            details.push(hostname.as_deref(), zone.as_deref(), executor.as_deref());
        }
        details.finish(&Builder::default())
    }

    /// Adds its details to each of the endpoints of which this was made.
    pub(in crate::objects) fn add<'a>(&self, endpoints: impl Iterator<Item = &'a mut Endpoint>) {
        for (endpoint, details) in endpoints.zip(self.0.split_terminator(END)) {
            let mut details = details.split(NEXT).map(|it| (!it.is_empty()).then(|| it.into()));
            let mut next = || details.next().flatten();
            (endpoint.hostname, endpoint.zone, endpoint.executor) = (next(), next(), next());
        }
    }

    /// The executors of those endpoints that have one.
    pub(in crate::objects) fn executors(&self) -> impl Iterator<Item = &str> {
        let all = self.0.split_terminator(END);
        all.filter_map(|details| details.splitn(3, NEXT).nth(2)).filter(|name| !name.is_empty())
    }
}

fn plain(text: Option<&str>) -> &str {
    text.filter(|text| !text.contains([NEXT, END])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(hostname: Option<&str>, zone: Option<&str>) -> Endpoint {
        let text = |text: Option<&str>| text.map(Into::into);
        let (hostname, zone) = (text(hostname), text(zone));
        Endpoint { addresses: Vec::new(), hostname, zone, executor: None }
    }

    fn run_by(executor: &str, endpoint: Endpoint) -> Endpoint {
        Endpoint { executor: Some(executor.into()), ..endpoint }
    }

    fn kept(endpoints: &[Endpoint]) -> Vec<Endpoint> {
        let mut bare = vec![endpoint(None, None); endpoints.len()];
        EndpointDetails::of(endpoints.iter()).add(bare.iter_mut());
        bare
    }

    #[test]
    fn each_endpoint_keeps_its_own() {
        let endpoints = [
            endpoint(Some("web-0"), Some("a")),
            endpoint(None, Some("b")),
            endpoint(Some("web-2"), None),
            endpoint(None, None),
            run_by("west", endpoint(None, None)),
            run_by("north", endpoint(Some("web-4"), None)),
        ];
        assert_eq!(kept(&endpoints), endpoints);
        let executors = EndpointDetails::of(endpoints.iter());
        assert_eq!(executors.executors().collect::<Vec<_>>(), ["west", "north"]);
    }

    #[test]
    fn endpoints_without_details_take_no_room() {
        assert_eq!(EndpointDetails::of([endpoint(None, None)].iter()), EndpointDetails::default());
    }

    /// What another member writes cannot shift the details of other endpoints.
    #[test]
    fn what_no_slice_can_have_is_dropped() {
        let endpoints =
            [run_by("e f", endpoint(Some("a\nb"), Some("x y"))), endpoint(Some("c"), None)];
        assert_eq!(kept(&endpoints), [endpoint(None, None), endpoint(Some("c"), None)]);
        assert_eq!(EndpointDetails::of(endpoints.iter()).executors().count(), 0);
    }
}
