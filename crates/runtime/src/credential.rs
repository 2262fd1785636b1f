//! Tokens for an API server that expire: when they are renewed, where they are kept, and what is known of them.
//!
//! - [`Claims`]: what a token contains; [`renewal`]: what is to be done with it; [`Standing`]: whether it is good. All pure.
//! - [`Renewer`]: renews the token of a file that is mounted from a Secret.
//!
//! Time is that of the API server that accepts the token, as the header `Date` of its answers has it: the machine's own
//! clock decides only before the first answer.

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
pub use clock::now;
pub use renewal::{Renewal, TokenSettings, Unrenewable, renewal};
pub use renewer::Renewer;
pub use secret::SecretKey;
pub use standing::Standing;

/// What is known of a credential now.
pub fn standing(credential: &Credential, clock: &Clock) -> Standing {
    let claims = credential.token().as_deref().and_then(Claims::of);
    Standing::of(claims.as_ref(), now(credential, clock), credential.is_rejected())
}
