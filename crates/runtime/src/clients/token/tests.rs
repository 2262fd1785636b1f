use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};

use tower::ServiceExt;

use super::*;

/// A folder of its own that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("fleet-token-{}-{count}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("token")
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    /// As a projected volume does it: the new file takes the place of the old one.
    fn swap(&self, text: &str) {
        let new = self.0.join("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.file()).unwrap();
    }

    async fn open(&self) -> Arc<TokenFile> {
        TokenFile::open(&self.file()).await
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn later(looks: u32) -> Instant {
    Instant::now() + LOOK_EVERY * looks
}

#[tokio::test]
async fn the_token_is_trimmed_and_not_shown_in_logs() {
    let folder = Folder::new();
    folder.write("\n secret \r\n");
    let header = folder.open().await.header(later(0)).unwrap();
    assert_eq!(header, "Bearer secret");
    assert!(header.is_sensitive());
    assert!(!format!("{:?}", folder.open().await).contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_written_at_the_start_is_waited_for() {
    let folder = Folder::new();
    let path = folder.file();
    let open = tokio::spawn(async move { TokenFile::open(&path).await });
    tokio::time::sleep(WAIT / 3).await;
    assert!(!open.is_finished());
    folder.write("");
    tokio::time::sleep(WAIT / 3).await;
    assert!(!open.is_finished(), "an empty file holds no token");
    folder.write("first");
    assert_eq!(open.await.unwrap().header(later(0)).unwrap(), "Bearer first");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_comes_late_is_read_when_it_is_there() {
    let folder = Folder::new();
    let token = folder.open().await;
    let reason = |looks| token.header(later(looks)).unwrap_err().to_string();
    assert!(reason(1).starts_with("no token yet in "), "{}", reason(1));
    assert!(reason(1).contains("No such file"), "{}", reason(1));
    folder.write("");
    assert!(reason(2).ends_with("the file is empty"), "{}", reason(2));
    folder.write("first");
    assert_eq!(token.header(later(3)).unwrap(), "Bearer first");
    folder.swap("");
    assert_eq!(token.header(later(4)).unwrap(), "Bearer first", "the last one stays");
}

/// The kubelet may show what a Secret has a minute later, whose token is in use by then.
#[tokio::test(start_paused = true)]
async fn a_token_from_elsewhere_is_used_before_there_is_a_file() {
    let folder = Folder::new();
    let token = folder.open().await;
    token.replace(bearer("stored").unwrap());
    assert_eq!(token.header(later(1)).unwrap(), "Bearer stored");
    folder.write("first");
    assert_eq!(token.header(later(2)).unwrap(), "Bearer first");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_without_a_token() {
    let folder = Folder::new();
    let token = folder.open().await;
    let server = tower::service_fn(|request: Request<()>| async move {
        let sent = request.headers()[AUTHORIZATION].clone();
        Ok::<_, Infallible>(Response::builder().header(AUTHORIZATION, sent).body(()).unwrap())
    });
    let mut client = TokenLayer(Arc::clone(&token)).layer(server);
    let error = client.ready().await.unwrap().call(Request::new(())).await.unwrap_err();
    assert!(error.is::<NoToken>(), "{error}");
    folder.write("first");
    token.refused();
    let answer = client.ready().await.unwrap().call(Request::new(())).await.unwrap();
    assert_eq!(answer.headers()[AUTHORIZATION], "Bearer first");
}

#[tokio::test]
async fn a_replaced_file_is_read_again() {
    let folder = Folder::new();
    folder.write("first");
    let token = folder.open().await;
    folder.swap("later");
    assert_eq!(token.header(later(1)).unwrap(), "Bearer later");
}

#[tokio::test]
async fn the_file_is_looked_at_once_a_second_at_most() {
    let folder = Folder::new();
    folder.write("first");
    let token = folder.open().await;
    folder.swap("later");
    assert_eq!(token.header(Instant::now()).unwrap(), "Bearer first");
}

#[tokio::test]
async fn the_last_good_token_stays_while_the_file_is_unusable() {
    let folder = Folder::new();
    folder.write("first");
    let token = folder.open().await;
    folder.swap("");
    assert_eq!(token.header(later(1)).unwrap(), "Bearer first");
    folder.swap("bad\u{1}token");
    assert_eq!(token.header(later(2)).unwrap(), "Bearer first");
    fs::remove_file(folder.file()).unwrap();
    assert_eq!(token.header(later(3)).unwrap(), "Bearer first");
    folder.write("second");
    assert_eq!(token.header(later(4)).unwrap(), "Bearer second");
}

#[tokio::test]
async fn a_refused_token_is_read_again_at_once() {
    let folder = Folder::new();
    folder.write("first");
    let token = folder.open().await;

    // A server that knows only the new token.
    let server = tower::service_fn(|request: Request<()>| async move {
        let good = request.headers()[AUTHORIZATION] == "Bearer newer";
        let status = if good { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
        Ok::<_, Infallible>(Response::builder().status(status).body(()).unwrap())
    });
    let mut client = TokenLayer(token).layer(server);

    folder.swap("newer");
    let first = client.ready().await.unwrap().call(Request::new(())).await.unwrap();
    assert_eq!(first.status(), StatusCode::UNAUTHORIZED);
    let second = client.ready().await.unwrap().call(Request::new(())).await.unwrap();
    assert_eq!(second.status(), StatusCode::OK);
}

/// A kubelet shows a new token later than it was written.
#[tokio::test]
async fn a_renewed_token_is_used_before_the_file_has_it() {
    let folder = Folder::new();
    folder.write("first");
    let token = folder.open().await;
    token.replace(bearer("second").unwrap());
    assert_eq!(token.header(later(1)).unwrap(), "Bearer second");
    // Written once more, or read again after a 401: still the one before.
    folder.swap("first");
    token.refused();
    assert_eq!(token.header(later(2)).unwrap(), "Bearer second");
    token.replace(bearer("third").unwrap());
    folder.swap("first");
    assert_eq!(token.header(later(3)).unwrap(), "Bearer third");
    folder.swap("third");
    assert_eq!(token.header(later(4)).unwrap(), "Bearer third");
    // What a user puts there counts, also the first one again.
    folder.swap("first");
    assert_eq!(token.header(later(5)).unwrap(), "Bearer first");
}

#[tokio::test]
async fn a_token_is_tried_beside_the_one_in_use() {
    let folder = Folder::new();
    folder.write("first");
    let token = folder.open().await;
    let server = tower::service_fn(|request: Request<()>| async move {
        let sent = request.headers()[AUTHORIZATION].clone();
        Ok::<_, Infallible>(Response::builder().header(AUTHORIZATION, sent).body(()).unwrap())
    });
    let mut client = TokenLayer(Arc::clone(&token)).layer(server);
    let mut request = Request::new(());
    request.extensions_mut().insert(Trial(bearer("second").unwrap()));
    let answer = client.ready().await.unwrap().call(request).await.unwrap();
    assert_eq!(answer.headers()[AUTHORIZATION], "Bearer second");
    assert_eq!(token.header(later(0)).unwrap(), "Bearer first");
}
