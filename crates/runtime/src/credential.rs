//! Tokens for an API server that expire: when they are renewed, where they are kept, and what is known of them.
//!
//! - [`Claims`]: what a token contains; [`renewal`]: when it is renewed; [`Standing`]: whether it is good. All pure.
//! - [`Renewer`]: renews the token of a file that is mounted from a Secret.
//!
//! Time is that of the API server that accepts the token. What an agent knows of it are two [`Clocks`], either of which may be
//! wrong, and, once it has renewed a token, when that was issued.

mod action;
mod claims;
mod clock;
mod renewal;
mod renewer;
mod request;
mod secret;
mod standing;

use crate::clients::Credential;
use crate::clock::Clock;

pub use claims::{Account, Claims};
pub use clock::Clocks;
pub use renewal::{Renewal, TokenSettings, Unrenewable, renewal};
pub use renewer::Renewer;
pub use secret::SecretKey;
pub use standing::Standing;

/// What is known of a credential now.
pub fn standing(credential: &Credential, clock: &Clock) -> Standing {
    let claims = credential.token().as_deref().and_then(Claims::of);
    Standing::of(claims.as_ref(), Clocks::of(credential, clock), credential.is_rejected())
}
