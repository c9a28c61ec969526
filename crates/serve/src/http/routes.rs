//! The routes of the contract.

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderValue, StatusCode, Uri, header},
    middleware,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Limits, auth, body};
use crate::{
    ApiError, ErrorKind, EvaluateRequest, PromptQuery, Service,
    error::{ErrorBody, RETRY_AFTER_S},
    job::{JobState, JobView},
    request::BatchRequest,
    store::jobs,
};

/// Longest wait of a call in seconds.
const MAX_WAIT_S: f64 = 300.0;

/// Requests of a batch at most.
const MAX_BATCH: usize = 256;

#[derive(Clone)]
struct App {
    service: Arc<Service>,
    limits: Limits,
}

pub(super) fn router(service: Arc<Service>, limits: Limits, others: Router) -> Router {
    let app = App { service: Arc::clone(&service), limits };
    Router::new()
        .route("/v1/evaluate", post(evaluate))
        .route("/v1/batch", post(batch))
        .route("/v1/jobs/{id}", get(job))
        .route("/v1/jobs/{id}/evaluation", get(evaluation))
        .route("/v1/ops", get(ops))
        .route("/v1/problems", get(problems))
        .route("/v1/prompt/{op}", get(prompt))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(contract))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app)
        .merge(others)
        .layer(middleware::from_fn_with_state(service, auth::guard))
}

async fn evaluate(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let until = until(request.uri())?;
    let request: EvaluateRequest = body::json(request, app.limits).await?;
    let mut jobs = app.service.submit(vec![Ok(request)]).await?;
    let job = jobs.pop().expect("one answer per request")?;
    let job = app.service.wait(job, until).await?;
    let status = match job.state {
        JobState::Queued | JobState::Running => StatusCode::ACCEPTED,
        JobState::Failed if job.retryable => StatusCode::SERVICE_UNAVAILABLE,
        JobState::Done | JobState::Failed => StatusCode::OK,
    };
    let mut response = (status, Json(job)).into_response();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(RETRY_AFTER_S));
    }
    Ok(response)
}

async fn batch(State(app): State<App>, request: Request) -> Result<Json<Value>, ApiError> {
    let until = until(request.uri())?;
    let BatchRequest { requests } = body::json(request, app.limits).await?;
    if !(1..=MAX_BATCH).contains(&requests.len()) {
        let text = format!("a batch has 1 to {MAX_BATCH} requests");
        return Err(ApiError::new(ErrorKind::InvalidRequest, text).field("requests"));
    }
    let max_queue = app.service.config.max_queue;
    if requests.len() > max_queue {
        let text = format!("the queue holds {max_queue} jobs at most");
        return Err(ApiError::new(ErrorKind::InvalidRequest, text).field("requests"));
    }
    let parsed = requests.iter().map(|request| body::parse(request.to_string().as_bytes()));
    let jobs = app.service.submit(parsed.collect()).await?;
    let wait = |job: Result<JobView, ApiError>| async {
        match job {
            Ok(job) => app.service.wait(job, until).await,
            Err(error) => Err(error),
        }
    };
    let jobs = futures_util::future::join_all(jobs.into_iter().map(wait)).await;
    let values = jobs.into_iter().map(|job| match job {
        Ok(job) => serde_json::to_value(job),
        Err(error) => serde_json::to_value(ErrorBody { error }),
    });
    let values: Result<Vec<Value>, _> = values.collect();
    Ok(Json(json!({ "jobs": values.expect("kgen's own data turns into JSON") })))
}

async fn job(State(app): State<App>, id: Id, uri: Uri) -> Result<Json<JobView>, ApiError> {
    let (id, until) = (id_of(id)?, until(&uri)?);
    let job = app.service.job(id).await?;
    Ok(Json(app.service.wait(job, until).await?))
}

async fn evaluation(State(app): State<App>, id: Id) -> Result<Response, ApiError> {
    let id = id_of(id)?;
    let asked = id.clone();
    let stored = app.service.store.call(move |transaction| jobs::evaluation(transaction, &asked));
    match stored.await? {
        None => Err(ApiError::new(ErrorKind::NotFound, format!("there is no job `{id}`"))),
        Some(None) => {
            Err(ApiError::new(ErrorKind::NoEvaluation, format!("job `{id}` has no evaluation")))
        }
        Some(Some(text)) => {
            Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
        }
    }
}

async fn ops(State(app): State<App>) -> Json<Value> {
    Json(json!({ "ops": app.service.judge.ops() }))
}

async fn problems(State(app): State<App>) -> Json<Value> {
    Json(json!({ "problems": app.service.judge.problems() }))
}

async fn prompt(State(app): State<App>, op: Id, uri: Uri) -> Result<Response, ApiError> {
    let mut query = PromptQuery { op: id_of(op)?, ..PromptQuery::default() };
    for (name, value) in pairs(&uri)? {
        match name.as_str() {
            "dtypes" => query.dtypes = value.split(',').map(str::to_owned).collect(),
            _ => return Err(unknown_parameter(&name)),
        }
    }
    Ok(Json(app.service.judge.prompt(&query)?).into_response())
}

async fn health(State(app): State<App>) -> Result<Response, ApiError> {
    let facts = app.service.judge.facts();
    let (queued, running) = app.service.depths().await?;
    let draining = app.service.is_draining();
    let status = if draining { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let health = json!({
        "status": if draining { "draining" } else { "ok" },
        "kgen_version": facts.kgen_version,
        "device": facts.device,
        "workers": facts.workers,
        "queued": queued,
        "running": running,
        "max_queue": app.service.config.max_queue,
    });
    Ok((status, Json(health)).into_response())
}

async fn metrics(State(app): State<App>) -> Result<Response, ApiError> {
    let metrics = &app.service.metrics;
    let (queued, _) = app.service.depths().await?;
    metrics.queue_depth.set(i64::try_from(queued).unwrap_or(i64::MAX));
    let text =
        metrics.text().map_err(|error| ApiError::new(ErrorKind::Internal, error.to_string()))?;
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, text).into_response())
}

async fn contract(State(app): State<App>) -> Json<Value> {
    Json(crate::openapi(&app.service.judge.facts().kgen_version))
}

async fn not_found(uri: Uri) -> ApiError {
    ApiError::new(ErrorKind::NotFound, format!("there is nothing at `{}`", uri.path()))
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(ErrorKind::MethodNotAllowed, "this path has no such method")
}

/// A part of the path that names something.
type Id = Result<Path<String>, PathRejection>;

fn id_of(id: Id) -> Result<String, ApiError> {
    let unreadable = |_| ApiError::new(ErrorKind::NotFound, "the path is no text");
    id.map(|Path(id)| id).map_err(unreadable)
}

/// Returns the end of the wait that a call asks for.
fn until(uri: &Uri) -> Result<Option<Instant>, ApiError> {
    let mut until = None;
    for (name, value) in pairs(uri)? {
        if name != "wait" {
            return Err(unknown_parameter(&name));
        }
        let seconds = value.parse().ok().filter(|s: &f64| (0.0..=MAX_WAIT_S).contains(s));
        let Some(seconds) = seconds else {
            let text = format!("a wait has 0 to {MAX_WAIT_S} seconds");
            return Err(ApiError::new(ErrorKind::InvalidRequest, text).field("wait"));
        };
        until = Some(Instant::now() + Duration::from_secs_f64(seconds));
    }
    Ok(until)
}

fn pairs(uri: &Uri) -> Result<Vec<(String, String)>, ApiError> {
    let query = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
    let wrong = |_| ApiError::new(ErrorKind::InvalidRequest, "the query cannot be read");
    query.map(|query| query.0).map_err(wrong)
}

fn unknown_parameter(name: &str) -> ApiError {
    let text = format!("unknown parameter `{name}`");
    ApiError::new(ErrorKind::InvalidRequest, text).field(name)
}
