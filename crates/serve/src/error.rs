//! Answers that are no success.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;

/// Why a call was refused; the name is part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    MalformedJson,
    Unauthorized,
    PythonNotAllowed,
    ForeignHost,
    NotFound,
    NoEvaluation,
    MethodNotAllowed,
    RequestTimeout,
    IdempotencyConflict,
    BodyTooLarge,
    UnsupportedMediaType,
    InvalidRequest,
    UnknownOp,
    UnknownProblem,
    UnknownSuite,
    InvalidProblem,
    NoCases,
    NoGpu,
    QueueFull,
    Internal,
    Draining,
    Storage,
}

impl ErrorKind {
    /// Returns the HTTP status.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::MalformedJson => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::PythonNotAllowed | Self::ForeignHost => StatusCode::FORBIDDEN,
            Self::NotFound | Self::NoEvaluation => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::IdempotencyConflict => StatusCode::CONFLICT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::InvalidRequest
            | Self::UnknownOp
            | Self::UnknownProblem
            | Self::UnknownSuite
            | Self::InvalidProblem
            | Self::NoCases
            | Self::NoGpu => StatusCode::UNPROCESSABLE_ENTITY,
            Self::QueueFull => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Draining | Self::Storage => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Returns the seconds after which a caller may try again.
    const fn retry_after(self) -> Option<u64> {
        match self {
            Self::QueueFull => Some(1),
            Self::Draining | Self::Storage => Some(RETRY_AFTER_S),
            _ => None,
        }
    }
}

/// Seconds after which a failure of the machine may be over.
pub(crate) const RETRY_AFTER_S: u64 = 5;

/// A refusal: its kind, and words for people.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema, thiserror::Error)]
#[error("{text}")]
pub struct ApiError {
    pub kind: ErrorKind,
    pub text: String,
    /// The member of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// A way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl ApiError {
    /// Returns a refusal in these words.
    #[must_use]
    pub fn new(kind: ErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), field: None, hint: None }
    }

    /// Names the member that is wrong.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Adds a way out, if there is one.
    #[must_use]
    pub fn hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

/// The body of every answer that is no success.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorBody {
    pub(crate) error: ApiError,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let kind = self.kind;
        let mut response = (kind.status(), Json(ErrorBody { error: self })).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = kind.retry_after() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if kind == ErrorKind::Unauthorized {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // The rest of such a body is not read.
        if matches!(kind, ErrorKind::BodyTooLarge | ErrorKind::RequestTimeout) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
