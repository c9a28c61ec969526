//! Connections, routes, and the way from a request's bytes to an answer.

mod auth;
mod body;
mod routes;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use crate::Service;

/// Limits against callers that are slow or many.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a body.
    pub max_body: usize,
    /// Connections at once.
    pub max_connections: usize,
    /// Time for the headers of a request, and for its body.
    pub request: Duration,
    /// Time between two parts of a body.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_body: 4 << 20,
            max_connections: 4096,
            request: Duration::from_secs(30),
            pause: Duration::from_secs(10),
        }
    }
}

/// Time that open connections have once all jobs are over.
const CLOSE: Duration = Duration::from_secs(5);

/// Listens on an address.
///
/// # Errors
///
/// When it is taken or not this machine's.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Answers requests and runs jobs until the service drains.
///
/// `others`: routes beside those of the contract, behind the same token.
pub async fn serve(
    listener: TcpListener,
    service: Arc<Service>,
    limits: Limits,
    others: axum::Router,
) {
    let router = routes::router(Arc::clone(&service), limits, others);
    let connections = Arc::new(Semaphore::new(limits.max_connections));
    let graceful = GracefulShutdown::new();
    let running = service.run();
    tokio::pin!(running);
    loop {
        let accepted = async {
            let permit = Arc::clone(&connections).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            // Calls are answered while running jobs end, so that their results are fetched.
            () = &mut running => break,
            accepted = accepted => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Too many open files, for example: a moment later there may be room.
                tracing::warn!("a connection was lost: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let connection = graceful.watch(connection(stream, router.clone(), limits));
        tokio::spawn(async move {
            let _permit = permit;
            if let Err(error) = connection.await {
                tracing::debug!("a connection ended: {error}");
            }
        });
    }
    drop(listener);
    drop(tokio::time::timeout(CLOSE, graceful.shutdown()).await);
}

fn connection(
    stream: TcpStream,
    router: axum::Router,
    limits: Limits,
) -> http1::Connection<TokioIo<TcpStream>, TowerToHyperService<axum::Router>> {
    // Small answers are not held back.
    drop(stream.set_nodelay(true));
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.request)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
}
