//! The credential that the clients of one API server share.

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderValue, Request};
use jiff::Timestamp;

use super::answers::{Answers, AnswersLayer, Trial};
use super::token::{TokenFile, TokenLayer, bearer};

/// The credential of the clients of one API server, and what the API server thinks of it. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Credential {
    token: Option<Arc<TokenFile>>,
    answers: Arc<Answers>,
}

impl Credential {
    /// The token of a file, or else what a kubeconfig contains.
    pub(super) fn new(token: Option<Arc<TokenFile>>) -> Self {
        Self { token, answers: Arc::default() }
    }

    /// Sends the token with each request.
    pub(super) fn token_layer(&self) -> Option<TokenLayer> {
        self.token.clone().map(TokenLayer)
    }

    /// Notes what becomes of it.
    pub(super) fn answers_layer(&self) -> AnswersLayer {
        AnswersLayer(Arc::clone(&self.answers))
    }

    fn header(&self) -> Option<HeaderValue> {
        self.token.as_ref()?.header(Instant::now()).ok()
    }

    /// The token in use; `None` if it is not that of a file, or [awaited](Self::is_awaited).
    pub fn token(&self) -> Option<String> {
        let header = self.header()?;
        header.to_str().ok()?.strip_prefix("Bearer ").map(str::to_owned)
    }

    /// Whether it is the token of a file that has had none yet.
    pub fn is_awaited(&self) -> bool {
        self.token.as_ref().is_some_and(|file| file.header(Instant::now()).is_err())
    }

    /// Uses another token from now on, until the file has one that is neither this nor the one before it.
    pub fn replace(&self, token: &str) {
        if let (Some(file), Ok(header)) = (&self.token, bearer(token)) {
            file.replace(header);
        }
    }

    /// Whether the API server's last answer to this credential was 401.
    pub fn is_rejected(&self) -> bool {
        self.answers.rejects(self.header().as_ref())
    }

    /// What time it is at the API server, if an answer contained it.
    pub fn server_time(&self) -> Option<Timestamp> {
        self.answers.time()
    }

    /// Sends another token with one request, to see what becomes of it.
    ///
    /// # Errors
    /// If the token cannot be sent.
    pub fn try_token<B>(&self, token: &str, request: &mut Request<B>) -> Result<(), String> {
        request.extensions_mut().insert(Trial(bearer(token)?));
        Ok(())
    }
}
