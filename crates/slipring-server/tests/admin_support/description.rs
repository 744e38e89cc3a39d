//! `openapi.json` as a checker of answers.

use std::sync::LazyLock;

use serde_json::Value;

static DESCRIPTION: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../src/admin/openapi.json")).unwrap());

/// The whole document.
pub fn description() -> &'static Value {
    &DESCRIPTION
}

/// Every operation of the document: path, method, operation id.
pub fn described_operations() -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for (path, methods) in DESCRIPTION["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            all.push((path.clone(), method.clone(), name.to_owned()));
        }
    }
    all.sort();
    all
}

/// Asserts that the answer to a request is one that the document describes.
pub fn check(method: &str, path: &str, status: u16, content_type: &str, body: &Value) {
    let path = path.split('?').next().unwrap();
    let operation = described_operations()
        .into_iter()
        .find(|(template, verb, _)| *verb == method.to_lowercase() && matches(template, path));
    let schema = match operation {
        Some((template, verb, _)) => {
            let responses = &DESCRIPTION["paths"][template][verb]["responses"];
            let response = responses.get(status.to_string()).unwrap_or(&responses["default"]);
            assert!(!response.is_null(), "{method} {path}: status {status} is not described");
            let Some(content) = response.get("content") else {
                assert!(body.is_null(), "{method} {path}: a body that is not described");
                return;
            };
            let kind = content_type.split(';').next().unwrap();
            assert!(content.get(kind).is_some(), "{method} {path}: {kind} is not described");
            content[kind]["schema"].clone()
        }
        None => serde_json::json!({ "$ref": "#/components/schemas/Failure" }),
    };
    if content_type == "application/x-ndjson" {
        for line in body.as_array().unwrap() {
            fits(&schema, line, path);
        }
    } else {
        fits(&schema, body, path);
    }
}

fn matches(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    template.len() == path.len()
        && template.iter().zip(&path).all(|(part, given)| part.starts_with('{') || part == given)
}

/// Asserts that `value` is what `schema` says; `at` names the place.
fn fits(schema: &Value, value: &Value, at: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return fits(&DESCRIPTION["components"]["schemas"][name], value, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let one = choices.iter().any(|choice| {
            let kind = &choice["properties"]["kind"]["const"];
            choice["type"] == "null" && value.is_null()
                || choice.get("$ref").is_some() && value.is_object()
                || kind.is_string() && *kind == value["kind"]
        });
        assert!(one, "{at}: {value} is none of {schema}");
        return;
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().map(|name| name.as_str().unwrap()).collect(),
        one => vec![one.as_str().unwrap_or_else(|| panic!("{at}: {schema} has no type"))],
    };
    assert!(types.contains(&kind(value)), "{at}: {value} is not {types:?}");
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{at}: {value} is not one of {allowed:?}");
    }
    match value {
        Value::Object(_) if schema["properties"].is_object() => fields_fit(schema, value, at),
        Value::Array(items) => {
            items.iter().for_each(|item| fits(&schema["items"], item, at));
        }
        _ => {}
    }
}

fn fields_fit(schema: &Value, value: &Value, at: &str) {
    let fields = value.as_object().unwrap();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        assert!(fields.contains_key(name), "{at}: {name} is missing in {value}");
    }
    for (name, field) in fields {
        let described = schema["properties"].get(name);
        let described = described.unwrap_or_else(|| panic!("{at}: {name} is not described"));
        fits(described, field, &format!("{at} {name}"));
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
