//! The two ways to name the hub: the original's variables, or a kubeconfig.

use std::path::PathBuf;

use fleet_accumulator::one_line;
use http::header::{HeaderName, HeaderValue};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};

use super::address::require_encryption;
use super::client_set::{ClientSet, from_config};
use super::error::ClientError;
use super::hub::{CONFIG_PATH, HUB_SERVER_URL, HubSettings, user_headers};
use super::token::TokenFile;

/// Flag with the path of a kubeconfig for the hub; its variable is `HUB_KUBECONFIG`.
const HUB_KUBECONFIG: &str = "--hub-kubeconfig (HUB_KUBECONFIG)";

/// Where the hub is and who we are there.
#[derive(Clone, Debug)]
pub enum HubAccess {
    /// By the original's variables.
    Variables(HubSettings),
    /// By a kubeconfig.
    Kubeconfig {
        /// Its path.
        path: PathBuf,
        /// Headers of each request.
        headers: Vec<(HeaderName, HeaderValue)>,
        /// Accept any server certificate.
        insecure: bool,
    },
}

impl HubAccess {
    /// Reads what is given: `kubeconfig`, else the environment of the original's member agents.
    ///
    /// # Errors
    /// Names what is missing, makes no sense, or is given in both ways.
    pub fn new(kubeconfig: Option<PathBuf>, insecure: bool) -> Result<Self, ClientError> {
        Self::from_lookup(kubeconfig, insecure, |name| std::env::var(name).ok())
    }

    fn from_lookup(
        kubeconfig: Option<PathBuf>,
        insecure: bool,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ClientError> {
        let Some(path) = kubeconfig else {
            let settings = HubSettings::from_lookup(lookup)?;
            return Ok(Self::Variables(HubSettings { insecure, ..settings }));
        };
        let given = |name: &&str| lookup(name).is_some_and(|value| !value.trim().is_empty());
        if let Some(variable) = [HUB_SERVER_URL, CONFIG_PATH].into_iter().find(given) {
            return Err(ClientError::Twice { variable, other: HUB_KUBECONFIG });
        }
        Ok(Self::Kubeconfig { path, headers: user_headers(lookup)?, insecure })
    }

    /// Clients for the hub. Waits a moment for the token in a file; without one their requests fail until it is there.
    ///
    /// # Errors
    /// One line that names the variable or flag and the reason.
    pub async fn connect(self) -> Result<ClientSet, ClientError> {
        let (path, headers, insecure) = match self {
            Self::Variables(settings) => return hub_from_env(settings).await,
            Self::Kubeconfig { path, headers, insecure } => (path, headers, insecure),
        };
        let invalid = |reason| ClientError::Invalid { variable: HUB_KUBECONFIG, reason };
        let file = Kubeconfig::read_from(&path)
            .map_err(|error| invalid(format!("{}: {}", path.display(), one_line(&error))))?;
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
        let mut config = config.map_err(|error| invalid(one_line(&error)))?;
        require_encryption(&config.cluster_url).map_err(invalid)?;
        config.headers.extend(headers);
        config.accept_invalid_certs |= insecure;
        from_config("hub", config).await
    }
}

/// Clients for the hub by the original's variables.
///
/// # Errors
/// One line that names the variable and the reason.
async fn hub_from_env(settings: HubSettings) -> Result<ClientSet, ClientError> {
    let config = settings.config()?;
    let token = TokenFile::open(&settings.token_path).await;
    ClientSet::new("hub", &config, Some(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_needs_no_variables_and_stands_no_others() {
        let path = || Some(PathBuf::from("/hub"));
        let header =
            |name: &str| (name == super::super::hub::HUB_KUBE_HEADER).then(|| "X: y".into());
        let access = HubAccess::from_lookup(path(), true, header).unwrap();
        let HubAccess::Kubeconfig { headers, insecure: true, .. } = access else {
            panic!("{access:?}")
        };
        assert_eq!(headers.len(), 1);

        for variable in [HUB_SERVER_URL, CONFIG_PATH] {
            let one = |name: &str| (name == variable).then(|| "given".to_owned());
            let error = HubAccess::from_lookup(path(), false, one).unwrap_err().to_string();
            assert!(error.contains(variable) && error.contains(HUB_KUBECONFIG), "{error}");
        }
        let error = HubAccess::from_lookup(None, false, |_| None).unwrap_err();
        assert_eq!(error.to_string(), "HUB_SERVER_URL is not set");
    }
}
