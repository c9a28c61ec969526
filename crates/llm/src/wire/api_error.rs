//! Errors as providers report them in a body, wherever they put them.

use serde_json::Value;

use super::{excerpt, string};

/// An error as a provider reports it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ApiError {
    /// HTTP status that it stands for, where the body says so.
    pub(crate) status: Option<u16>,
    /// Kind, for example `rate_limit_error`.
    pub(crate) kind: Option<String>,
    /// Code, for example `insufficient_quota`.
    pub(crate) code: Option<String>,
    /// The parameter it is about.
    pub(crate) param: Option<String>,
    /// The provider's words.
    pub(crate) message: String,
}

/// Reads the error out of the body of a failed request; `None` where it is of no known form.
pub(crate) fn error_body(body: &str) -> Option<ApiError> {
    let value: Value = serde_json::from_str(body).ok()?;
    find(&value).or_else(|| {
        // Servers in Python say `{"detail": ..}`, others `{"message": ..}`.
        let words = value.get("detail").or_else(|| value.get("message"))?;
        let message = words.as_str().map_or_else(|| excerpt(&words.to_string()), excerpt);
        let code = value.get("code").and_then(Value::as_u64);
        let status = code.and_then(|code| u16::try_from(code).ok());
        Some(ApiError { status, message, ..ApiError::default() })
    })
}

/// Returns the error that a body of no known form stands for.
pub(crate) fn plain(body: &str) -> ApiError {
    ApiError { message: excerpt(body), ..ApiError::default() }
}

/// Finds the error in a response or an event, if there is one.
pub(super) fn find(value: &Value) -> Option<ApiError> {
    // Some servers wrap the error in a list of one.
    let value = value.get(0).unwrap_or(value);
    let is_error = value["type"] == "error";
    let error = match value.get("error").or_else(|| value.pointer("/response/error")) {
        // A streamed event may be the error itself.
        Some(Value::Null) | None if is_error => value,
        Some(Value::Null) | None => return None,
        Some(error) => error,
    };
    let code = error.get("code").or_else(|| error.get("status"));
    Some(ApiError {
        status: code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        kind: string(&error["type"]).filter(|kind| kind != "error"),
        code: code.and_then(Value::as_str).map(str::to_owned),
        param: string(&error["param"]),
        message: string(&error["message"])
            .or_else(|| error.as_str().map(excerpt))
            .unwrap_or_else(|| excerpt(&error.to_string())),
    })
}

impl ApiError {
    /// Returns the HTTP status that an error inside a 200 stands for.
    pub(crate) fn implied_status(&self) -> u16 {
        if let Some(status) = self.status {
            return status;
        }
        match self.kind.as_deref().or(self.code.as_deref()) {
            Some("overloaded_error") => 529,
            Some("rate_limit_error" | "rate_limit_exceeded" | "slow_down") => 429,
            Some("authentication_error") => 401,
            Some("billing_error") => 402,
            Some("permission_error") => 403,
            Some("not_found_error") => 404,
            Some("invalid_request_error") => 400,
            Some(_) | None => 500,
        }
    }

    /// Returns whether waiting does not help, because an account is used up.
    pub(crate) fn is_spent(&self, status: u16) -> bool {
        // Anthropic reports an empty account and a spending limit as a bad request.
        let words = ["credit balance is too low", "spend limit", "specified API usage limits"];
        if status == 400 && words.iter().any(|words| self.message.contains(words)) {
            return true;
        }
        self.is_named(|name| {
            matches!(
                name,
                "insufficient_quota"
                    | "credit_balance_exhausted"
                    | "organization_usage_limit_exceeded"
                    | "billing_error"
                    | "billing_hard_limit_reached"
            ) || name.ends_with("_spend_limit_exceeded")
        })
    }

    /// Returns whether the provider's filter took exception to the prompt or the reply.
    pub(crate) fn is_filtered(&self, status: u16) -> bool {
        let words = ["content filtering policy", "content management policy", "usage policy"];
        self.is_named(|name| {
            matches!(name, "content_filter" | "content_policy_violation" | "data_inspection_failed")
        }) || (status == 400 && words.iter().any(|words| self.message.contains(words)))
    }

    /// Returns whether the prompt, perhaps with the reply it asks for, exceeds the model's context.
    pub(crate) fn is_too_long(&self, status: u16) -> bool {
        let words = [
            "prompt is too long",
            "maximum context length",
            "context window",
            "exceed context limit",
        ];
        status == 413
            || self.is_named(|name| {
                matches!(
                    name,
                    "context_length_exceeded" | "request_too_large" | "exceed_context_size_error"
                )
            })
            || (matches!(status, 400 | 422)
                && words.iter().any(|words| self.message.contains(words)))
    }

    /// Returns whether the provider does not know the model.
    pub(crate) fn is_unknown_model(&self, status: u16) -> bool {
        let about_model = self.param.as_deref() == Some("model") || self.message.contains("model");
        self.is_named(|name| matches!(name, "model_not_found" | "unknown_model"))
            || (status == 404 && about_model)
    }

    /// Returns whether the error's code or kind is such a one.
    fn is_named(&self, is: impl Fn(&str) -> bool) -> bool {
        self.code.as_deref().is_some_and(&is) || self.kind.as_deref().is_some_and(&is)
    }
}
