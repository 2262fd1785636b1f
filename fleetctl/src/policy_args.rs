//! Flags of `fleetctl join` that restrict a member.

use std::net::IpAddr;

use clap::Args;
use fleet_model::service_list::ServiceList;

/// What a member is allowed.
#[derive(Args, Clone, Debug, Default)]
pub struct PolicyArgs {
    /// Ranges of the endpoints that the member may export, such as `10.1.0.0/16,fd00:1::/48`. For a member without a member
    /// policy by default any address that the hub does not reserve
    #[arg(long, value_name = "CIDRS", value_parser = cidrs)]
    pub cidrs: Option<String>,
    /// Services that the member may export: NAMESPACE/NAME, NAMESPACE/* or *, separated by commas. For a member without a
    /// member policy by default *
    #[arg(long, value_name = "SERVICES", value_parser = services)]
    pub exports: Option<String>,
    /// Services that the member may import, like --exports
    #[arg(long, value_name = "SERVICES", value_parser = services)]
    pub imports: Option<String>,
}

/// Checks ranges as P13 does, so that a mistake is named before anything is written.
fn cidrs(text: &str) -> Result<String, String> {
    let ranges = text.split(',').map(str::trim).filter(|range| !range.is_empty());
    match ranges.into_iter().find(|range| !is_range(range)) {
        None => Ok(text.to_owned()),
        Some(wrong) => {
            Err(format!("{wrong:?} is not a range like 10.1.0.0/16, no bits set behind the prefix"))
        }
    }
}

fn is_range(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    let (Ok(address), Ok(prefix)) = (address.parse(), prefix.parse::<u32>()) else { return false };
    let (bits, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    prefix <= width && (bits == 0 || bits.trailing_zeros() >= width - prefix)
}

fn services(text: &str) -> Result<String, String> {
    let wrong = |entry: String| format!("{entry:?} is none of NAMESPACE/NAME, NAMESPACE/* and *");
    text.parse::<ServiceList>().map(|_| text.to_owned()).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_named() {
        for text in [
            "",
            "10.1.0.0/16, fd00:1::/48",
            "0.0.0.0/0,::/0",
            "10.1.2.3/32",
            "::1/128",
            "0.0.0.0/32",
        ] {
            assert_eq!(cidrs(text).as_deref(), Ok(text));
        }
        for text in
            ["10.1.0.0", "10.1.0.1/16", "10.0.0.0/33", "pods", "fd00::1/64", "10.1.0.0/16;::/0"]
        {
            assert!(cidrs(&format!("10.0.0.0/8,{text}")).unwrap_err().contains(text));
        }
        assert!(services("shop/*, team/web").is_ok());
        assert!(services("shop/*, team").unwrap_err().contains("\"team\""));
    }
}
