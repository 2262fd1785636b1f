//! A TCP proxy in front of an API server, to do to connections what networks do to them: take time, end them, stop carrying
//! anything without a word, refuse new ones. TLS passes through it unseen.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;

/// What was read and is not written yet: so many reads of one direction.
const UNDER_WAY: usize = 1024;

/// What the proxy does with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    /// Carries them.
    Open,
    /// Keeps all connections and carries nothing.
    Frozen,
    /// Ends all connections, and new ones at once.
    Shut,
}

/// What every connection does.
#[derive(Clone, Copy, Debug)]
struct Orders {
    link: Link,
    /// Connections from before the last cut end.
    cuts: usize,
    /// Connections from before the last stranding carry nothing any more.
    strandings: usize,
    /// How long everything takes in each direction.
    delay: Duration,
    /// How many of the servers new connections are spread over, in turns.
    spread: usize,
}

/// A running proxy on a loopback port of its own. Dropping it ends all its connections.
#[derive(Debug)]
pub struct Proxy {
    port: u16,
    servers: usize,
    orders: watch::Sender<Orders>,
    open: Arc<AtomicUsize>,
    listener: AbortHandle,
}

impl Proxy {
    /// A proxy to the API server at `url`, `https://127.0.0.1:<port>`.
    pub async fn to(url: &str) -> Result<Self> {
        Self::to_each(&[url]).await
    }

    /// A proxy to the first of these API servers, and after [`Self::spread`] to further ones.
    pub async fn to_each(urls: &[&str]) -> Result<Self> {
        let address = |url: &&str| {
            let target = url.strip_prefix("https://").context("the target is no https URL")?;
            anyhow::Ok(target.trim_end_matches('/').to_owned())
        };
        Self::to_addresses(urls.iter().map(address).collect::<Result<_>>()?).await
    }

    async fn to_addresses(targets: Vec<String>) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("listen")?;
        let port = listener.local_addr()?.port();
        let servers = targets.len();
        let (orders, ordered) = watch::channel(Orders {
            link: Link::Open,
            cuts: 0,
            strandings: 0,
            delay: Duration::ZERO,
            spread: 1,
        });
        let open = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&open);
        let accepting = tokio::spawn(async move {
            let mut turn = 0;
            while let Ok((client, _)) = listener.accept().await {
                let target = targets[turn % ordered.borrow().spread].clone();
                turn += 1;
                let ordered = ordered.clone();
                let counted = Counted::new(&count);
                tokio::spawn(async move {
                    carry(client, &target, ordered).await;
                    drop(counted);
                });
            }
        });
        Ok(Self { port, servers, orders, open, listener: accepting.abort_handle() })
    }

    /// Where clients reach the API server through the proxy. Its certificate is good for this address too.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// Number of connections at the moment.
    pub fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Carries everything so much later from now on: half of it in each direction.
    pub fn set_round_trip(&self, time: Duration) {
        self.orders.send_modify(|orders| orders.delay = time / 2);
    }

    /// Spreads new connections over so many of the servers, in turns.
    ///
    /// # Panics
    /// If there are not so many, or none.
    pub fn spread(&self, servers: usize) {
        assert!((1..=self.servers).contains(&servers), "{} servers", self.servers);
        self.orders.send_modify(|orders| orders.spread = servers);
    }

    /// Ends all connections; new ones work.
    pub fn cut(&self) {
        self.orders.send_modify(|orders| orders.cuts += 1);
    }

    /// Carries nothing any more, without ending anything; new connections are accepted and as silent.
    pub fn freeze(&self) {
        self.orders.send_modify(|orders| orders.link = Link::Frozen);
    }

    /// Lets the connections there are never carry anything again, without ending them; new ones work.
    pub fn strand(&self) {
        self.orders.send_modify(|orders| orders.strandings += 1);
    }

    /// Ends all connections, and new ones at once.
    pub fn shut(&self) {
        self.orders.send_modify(|orders| orders.link = Link::Shut);
    }

    /// After [`Self::freeze`] or [`Self::shut`]: carries everything again, what was held first.
    pub fn open(&self) {
        self.orders.send_modify(|orders| orders.link = Link::Open);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

/// Counts while it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Carries one connection until one side ends it or the proxy does.
async fn carry(client: TcpStream, target: &str, mut ordered: watch::Receiver<Orders>) {
    let born = *ordered.borrow();
    let (mut begin, there, back) = (ordered.clone(), ordered.clone(), ordered.clone());
    let carried = async {
        may_carry(&mut begin, born).await?;
        let server = TcpStream::connect(target).await.ok()?;
        // As without a proxy: small requests do not wait for acknowledgements.
        client.set_nodelay(true).ok()?;
        server.set_nodelay(true).ok()?;
        let (mut client_reads, mut client_writes) = client.into_split();
        let (mut server_reads, mut server_writes) = server.into_split();
        tokio::join!(
            pump(&mut client_reads, &mut server_writes, there, born),
            pump(&mut server_reads, &mut client_writes, back, born),
        );
        Some(())
    };
    // An error means that the proxy is gone.
    let ended = ordered.wait_for(|now| now.link == Link::Shut || now.cuts != born.cuts);
    tokio::select! {
        // First: what is held when a frozen connection is cut must not slip out.
        biased;
        _ = ended => {}
        _ = carried => {}
    }
}

/// Waits while the connection must not carry anything. `None` if the proxy is gone.
async fn may_carry(ordered: &mut watch::Receiver<Orders>, born: Orders) -> Option<()> {
    let may = |now: &Orders| now.link != Link::Frozen && now.strandings == born.strandings;
    ordered.wait_for(may).await.ok().map(drop)
}

/// Carries one direction to its end, and hands the end on.
async fn pump(
    from: &mut (impl AsyncReadExt + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    ordered: watch::Receiver<Orders>,
    born: Orders,
) {
    let (way, end) = mpsc::channel(UNDER_WAY);
    tokio::join!(send(from, way, ordered, born), arrive(end, to));
    // Fails only if the other side is gone already.
    let _ = to.shutdown().await;
}

/// Bytes under way, with the time at which they arrive.
type Sent = (Instant, Vec<u8>);

async fn send(
    from: &mut (impl AsyncReadExt + Unpin),
    way: mpsc::Sender<Sent>,
    mut ordered: watch::Receiver<Orders>,
    born: Orders,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count) = from.read(&mut buffer).await {
        // What was read while the link froze is held with the rest; so is the end.
        if may_carry(&mut ordered, born).await.is_none() || count == 0 {
            break;
        }
        let arrives = Instant::now() + ordered.borrow().delay;
        if way.send((arrives, buffer[..count].to_vec())).await.is_err() {
            break;
        }
    }
}

async fn arrive(mut way: mpsc::Receiver<Sent>, to: &mut (impl AsyncWriteExt + Unpin)) {
    while let Some((arrives, bytes)) = way.recv().await {
        if arrives > Instant::now() {
            tokio::time::sleep_until(arrives).await;
        }
        if to.write_all(&bytes).await.is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    /// A server that sends everything back, and a proxy to it.
    async fn echo() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut reads, mut writes) = stream.split();
                    tokio::io::copy(&mut reads, &mut writes).await
                });
            }
        });
        Proxy::to_addresses(vec![target]).await.unwrap()
    }

    async fn connect(proxy: &Proxy) -> TcpStream {
        TcpStream::connect(("127.0.0.1", proxy.port)).await.unwrap()
    }

    async fn say(stream: &mut TcpStream, text: &[u8; 2]) {
        stream.write_all(text).await.unwrap();
    }

    async fn hear(stream: &mut TcpStream) -> [u8; 2] {
        let mut text = [0; 2];
        let read = tokio::time::timeout(SOON, stream.read_exact(&mut text));
        read.await.expect("an answer").unwrap();
        text
    }

    async fn assert_ended(mut stream: TcpStream) {
        let mut text = [0; 2];
        let read = tokio::time::timeout(SOON, stream.read(&mut text)).await.expect("an end");
        assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
    }

    #[tokio::test]
    async fn a_cut_ends_what_is_there_and_nothing_else() {
        let proxy = echo().await;
        let mut old = connect(&proxy).await;
        say(&mut old, b"hi").await;
        assert_eq!(&hear(&mut old).await, b"hi");
        proxy.cut();
        assert_ended(old).await;
        let mut new = connect(&proxy).await;
        say(&mut new, b"ho").await;
        assert_eq!(&hear(&mut new).await, b"ho");
    }

    #[tokio::test]
    async fn a_long_way_takes_its_time_in_both_directions() {
        let proxy = echo().await;
        let mut stream = connect(&proxy).await;
        let time = Duration::from_millis(80);
        proxy.set_round_trip(time);
        let begin = Instant::now();
        say(&mut stream, b"hi").await;
        say(&mut stream, b"ho").await;
        assert_eq!(&hear(&mut stream).await, b"hi");
        assert!(begin.elapsed() >= time);
        assert_eq!(&hear(&mut stream).await, b"ho");
    }

    #[tokio::test]
    async fn a_frozen_link_keeps_everything_for_later() {
        let proxy = echo().await;
        let mut old = connect(&proxy).await;
        say(&mut old, b"hi").await;
        assert_eq!(&hear(&mut old).await, b"hi");
        proxy.freeze();
        let mut new = connect(&proxy).await;
        say(&mut old, b"ho").await;
        say(&mut new, b"he").await;
        let mut text = [0; 2];
        let silence = Duration::from_millis(50);
        assert!(tokio::time::timeout(silence, old.read(&mut text)).await.is_err());
        assert!(tokio::time::timeout(silence, new.read(&mut text)).await.is_err());
        proxy.open();
        assert_eq!(&hear(&mut old).await, b"ho");
        assert_eq!(&hear(&mut new).await, b"he");
    }

    #[tokio::test]
    async fn a_stranded_connection_is_silent_beside_new_ones() {
        let proxy = echo().await;
        let mut old = connect(&proxy).await;
        say(&mut old, b"hi").await;
        assert_eq!(&hear(&mut old).await, b"hi");
        proxy.strand();
        say(&mut old, b"ho").await;
        let mut new = connect(&proxy).await;
        say(&mut new, b"he").await;
        assert_eq!(&hear(&mut new).await, b"he");
        let mut text = [0; 2];
        let silence = Duration::from_millis(50);
        assert!(tokio::time::timeout(silence, old.read(&mut text)).await.is_err());
        proxy.cut();
        assert_ended(old).await;
    }

    #[tokio::test]
    async fn a_shut_proxy_ends_old_and_new_connections() {
        let proxy = echo().await;
        let mut old = connect(&proxy).await;
        say(&mut old, b"hi").await;
        assert_eq!(&hear(&mut old).await, b"hi");
        proxy.shut();
        assert_ended(old).await;
        assert_ended(connect(&proxy).await).await;
        proxy.open();
        let mut new = connect(&proxy).await;
        say(&mut new, b"ho").await;
        assert_eq!(&hear(&mut new).await, b"ho");
    }
}
