//! AddPermission and RemovePermission: statements of the queue's policy, which has no effect here
//! and is kept for those who read it back.

use serde_json::{Map, Value, json};
use slipring::QueueSettings;
use slipring_wire::sqs::{AddPermission, Answer, RemovePermission, SqsError};

use super::attributes::{keep, kept};
use super::call::Call;

const POLICY: &str = "Policy";
const STATEMENTS: &str = "Statement";
const LABEL: &str = "Sid";

/// The queue's policy, or an empty one.
fn policy_of(settings: &QueueSettings) -> Map<String, Value> {
    // It was checked when it was set.
    serde_json::from_str(kept(settings, POLICY)).unwrap_or_default()
}

fn statements(policy: &Map<String, Value>) -> Vec<Value> {
    match policy.get(STATEMENTS) {
        Some(Value::Array(statements)) => statements.clone(),
        Some(single @ Value::Object(_)) => vec![single.clone()],
        _ => Vec::new(),
    }
}

fn has_label(statement: &Value, label: &str) -> bool {
    statement.get(LABEL).and_then(Value::as_str) == Some(label)
}

impl Call<'_> {
    pub(super) async fn add_permission(&self, p: AddPermission) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let arn = self.arn_of(queue.name().as_str());
        let one_or_many = |mut texts: Vec<String>| match texts.len() {
            1 => json!(texts.pop()),
            _ => json!(texts),
        };
        let accounts = p.aws_account_ids.iter().map(|id| format!("arn:aws:iam::{id}:root"));
        let actions = p.actions.iter().map(|action| format!("SQS:{action}"));
        let statement = json!({
            LABEL: p.label,
            "Effect": "Allow",
            "Principal": { "AWS": one_or_many(accounts.collect()) },
            "Action": one_or_many(actions.collect()),
            "Resource": arn,
        });
        let add = move |settings: &mut QueueSettings| {
            let mut policy = policy_of(settings);
            let mut all = statements(&policy);
            if all.iter().any(|statement| has_label(statement, &p.label)) {
                return Err(SqsError::bad_value(&p.label, "Label", "Already exists."));
            }
            all.push(statement.clone());
            policy.entry("Version").or_insert_with(|| json!("2008-10-17"));
            policy.entry("Id").or_insert_with(|| json!(format!("{arn}/SQSDefaultPolicy")));
            policy.insert(STATEMENTS.to_string(), Value::Array(all));
            keep(settings, POLICY, &Value::Object(policy).to_string());
            Ok(())
        };
        self.change(&queue, add).await
    }

    pub(super) async fn remove_permission(&self, p: RemovePermission) -> Result<Answer, SqsError> {
        let queue = self.queue(&p.queue_url).await?;
        let remove = move |settings: &mut QueueSettings| {
            let mut policy = policy_of(settings);
            let mut all = statements(&policy);
            let before = all.len();
            all.retain(|statement| !has_label(statement, &p.label));
            if all.len() == before {
                return Err(SqsError::bad_value(&p.label, "Label", "can't find label."));
            }
            if all.is_empty() {
                keep(settings, POLICY, "");
                return Ok(());
            }
            policy.insert(STATEMENTS.to_string(), Value::Array(all));
            keep(settings, POLICY, &Value::Object(policy).to_string());
            Ok(())
        };
        self.change(&queue, remove).await
    }
}
