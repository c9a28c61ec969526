//! The bearer token.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::{ApiError, ErrorKind, Service};

/// Path that needs no token: whoever watches the server has none.
const OPEN: &str = "/health";

/// Refuses calls without the token, and counts all answers.
pub(super) async fn guard(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let is_open = request.uri().path() == OPEN;
    let refusal = match &service.config.token {
        _ if is_open => None,
        Some(token) if has_token(request.headers(), token) => None,
        Some(_) => Some(ApiError::new(ErrorKind::Unauthorized, "a bearer token is needed")),
        None if is_local(request.headers()) => None,
        None => Some(ApiError::new(ErrorKind::ForeignHost, "the host is not this machine")),
    };
    let response = match refusal {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    service.metrics.requests.with_label_values(&[response.status().as_str()]).inc();
    response
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return false };
    let Some((scheme, given)) = value.to_str().ok().and_then(|text| text.split_once(' ')) else {
        return false;
    };
    // Hashes of the same length: the time of comparing says nothing about the token.
    scheme.eq_ignore_ascii_case("bearer") && Sha256::digest(given.trim()) == Sha256::digest(token)
}

/// Whether a call names this machine as its host: a web page whose name was bound to it does not.
fn is_local(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hosts_of_this_machine_are_local() {
        let is = |host: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::HOST, host.parse().unwrap());
            is_local(&headers)
        };
        assert!(
            ["localhost", "LOCALHOST:80", "127.0.0.1:8311", "[::1]:80", "127.0.0.2"]
                .iter()
                .all(|host| is(host))
        );
        assert!(
            !["evil.example", "evil.example:8311", "10.0.0.1:80", "localhost.evil.example"]
                .iter()
                .any(|host| is(host))
        );
    }

    #[test]
    fn a_token_is_compared_whole() {
        let has = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, value.parse().unwrap());
            }
            has_token(&headers, "secret")
        };
        assert!(has(&["Bearer secret"]) && has(&["bearer secret"]));
        assert!(
            !has(&[])
                && !has(&["Bearer secre"])
                && !has(&["Bearer secrets"])
                && !has(&["Basic secret"])
        );
        assert!(!has(&["Bearer secret", "Bearer secret"]));
    }
}
