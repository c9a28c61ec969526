//! The contract as `OpenAPI` 3.1, out of the types that are read and written.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    EvaluateRequest, OpEntry, ProblemEntry, Prompt, error::ErrorBody, job::JobView,
    request::BatchRequest,
};

/// Returns the contract.
#[must_use]
pub fn document(kgen_version: &str) -> Value {
    let mut schemas = Schemas(
        SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into())
            .into_generator(),
    );
    let paths = paths(&mut schemas);
    json!({
        "openapi": "3.1.0",
        "info": { "title": "kgen", "version": kgen_version },
        "paths": paths,
        "components": {
            "schemas": schemas.0.take_definitions(true),
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{ "token": [] }],
    })
}

struct Schemas(SchemaGenerator);

impl Schemas {
    fn of<T: JsonSchema>(&mut self) -> Value {
        self.0.subschema_for::<T>().to_value()
    }

    /// Returns the schema of an object with one member, a list.
    fn list<T: JsonSchema>(&mut self, member: &str) -> Value {
        object(&[(member, json!({ "type": "array", "items": self.of::<T>() }))])
    }
}

fn object(members: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties, "required": names })
}

fn paths(schemas: &mut Schemas) -> Value {
    let job = schemas.of::<JobView>();
    let error = schemas.of::<ErrorBody>();
    let wait = query("wait", json!({ "type": "number", "minimum": 0, "maximum": 300 }));
    let id = path("id");
    let jobs = json!({ "type": "array", "items": { "anyOf": [job, error] } });
    let number = json!({ "type": "integer", "minimum": 0 });
    let text = json!({ "type": "string" });
    let health = object(&[
        ("status", json!({ "enum": ["ok", "draining"] })),
        ("kgen_version", text.clone()),
        ("device", text.clone()),
        ("workers", number.clone()),
        ("queued", number.clone()),
        ("running", number.clone()),
        ("max_queue", number),
    ]);
    let evaluated = json!({
        "200": content("The job is over", &job),
        "202": content("The job waits or runs", &job),
        "503": content("The machine failed, or takes no jobs", &json!({ "anyOf": [job, error] })),
        "default": content("Refused", &error),
    });
    let answer = |text: &str, schema: &Value| json!({ "200": content(text, schema), "default": content("Refused", &error) });
    json!({
        "/v1/evaluate": { "post": {
            "summary": "Make a job",
            "parameters": [wait],
            "requestBody": body(&schemas.of::<EvaluateRequest>()),
            "responses": evaluated,
        } },
        "/v1/batch": { "post": {
            "summary": "Make several jobs",
            "parameters": [wait],
            "requestBody": body(&schemas.of::<BatchRequest>()),
            "responses": answer("The jobs, in order", &object(&[("jobs", jobs)])),
        } },
        "/v1/jobs/{id}": { "get": {
            "summary": "A job", "parameters": [id, wait], "responses": answer("The job", &job),
        } },
        "/v1/jobs/{id}/evaluation": { "get": {
            "summary": "The whole evaluation",
            "parameters": [id],
            "responses": answer("As `data` of `kgen eval --format json`", &json!({ "type": "object" })),
        } },
        "/v1/ops": { "get": {
            "summary": "The catalogue",
            "responses": answer("The ops", &schemas.list::<OpEntry>("ops")),
        } },
        "/v1/problems": { "get": {
            "summary": "Op files of the server",
            "responses": answer("The problems", &schemas.list::<ProblemEntry>("problems")),
        } },
        "/v1/prompt/{op}": { "get": {
            "summary": "The first prompt about an op",
            "parameters": [path("op"), query("dtypes", text.clone())],
            "responses": answer("The prompt", &schemas.of::<Prompt>()),
        } },
        "/health": { "get": {
            "summary": "The state of the server",
            "security": [],
            "responses": {
                "200": content("It takes jobs", &health),
                "503": content("It takes none", &json!({ "anyOf": [health, error] })),
            },
        } },
        "/metrics": { "get": {
            "summary": "Prometheus metrics",
            "responses": {
                "200": {
                    "description": "Text format 0.0.4",
                    "content": { "text/plain": { "schema": text } },
                },
                "default": content("Refused", &error),
            },
        } },
        "/openapi.json": { "get": {
            "summary": "This document",
            "responses": answer("OpenAPI 3.1", &json!({ "type": "object" })),
        } },
    })
}

fn content(description: &str, schema: &Value) -> Value {
    json!({
        "description": description,
        "content": { "application/json": { "schema": schema } },
    })
}

fn body(schema: &Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

fn path(name: &str) -> Value {
    json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
}

fn query(name: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "query", "required": false, "schema": schema })
}
