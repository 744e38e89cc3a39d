//! Queues that a configuration declares: made at the start of a server, or given the settings that
//! the configuration names.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use slipring::limits::Limits;
use slipring::{Engine, Error, ErrorKind, QueueName, QueueSettings};

/// Queues whose names end so are FIFO queues, as they are for SQS.
const FIFO_SUFFIX: &str = ".fifo";

/// The settings of a new queue of this name of which nothing else is said.
#[must_use]
pub fn plain_settings(name: &str) -> QueueSettings {
    QueueSettings { fifo: name.ends_with(FIFO_SUFFIX), ..QueueSettings::default() }
}

/// `settings` with `changes`, which have the names and values of the admin API; null brings back
/// the default.
///
/// # Errors
/// A setting that there is not, or a value that it cannot have.
pub fn changed(
    settings: &QueueSettings,
    changes: &Map<String, Value>,
) -> Result<QueueSettings, String> {
    let mut all = match serde_json::to_value(settings) {
        Ok(Value::Object(all)) => all,
        _ => return Err("the present settings are no JSON object".to_owned()),
    };
    for (key, value) in changes {
        if value.is_null() {
            if all.remove(key).is_none() {
                return Err(format!("unknown setting {key:?}"));
            }
        } else {
            all.insert(key.clone(), value.clone());
        }
    }
    serde_json::from_value(Value::Object(all)).map_err(|error| error.to_string())
}

/// The dead-letter queue that settings name.
///
/// # Errors
/// Settings without `max_attempts`, by which no message gets there.
pub(crate) fn dead_letter(settings: &QueueSettings) -> Result<Option<&QueueName>, String> {
    match &settings.dead_letter {
        Some(name) if settings.max_attempts.is_none() => Err(format!(
            "dead_letter is {name} and max_attempts is null: no message would ever go there; set \
             max_attempts too"
        )),
        name => Ok(name.as_ref()),
    }
}

/// Whether there is a queue of this name.
pub(crate) async fn is_there(engine: &Engine, name: &QueueName) -> Result<bool, Error> {
    match engine.queue(name.as_str()).await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::QueueNotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// What is declared of a queue.
#[derive(Debug, Clone)]
struct DeclaredQueue {
    /// The settings that are named.
    named: Map<String, Value>,
    /// Those of a new queue: the named ones, and the defaults of the others.
    whole: QueueSettings,
}

/// Queues by name, each with the settings that are declared, which hold for a new queue.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, Map<String, Value>>")]
pub struct DeclaredQueues(BTreeMap<QueueName, DeclaredQueue>);

impl TryFrom<BTreeMap<String, Map<String, Value>>> for DeclaredQueues {
    type Error = String;

    /// # Errors
    /// A name or a setting that a queue cannot have; it names both.
    fn try_from(given: BTreeMap<String, Map<String, Value>>) -> Result<Self, String> {
        let mut queues = BTreeMap::new();
        for (name, named) in given {
            let refuse = |what: String| format!("queue {name}: {what}");
            let checked = QueueName::new(&name).map_err(|error| refuse(error.to_string()))?;
            let whole = changed(&plain_settings(&name), &named).map_err(refuse)?;
            let limits = Limits::default().check_settings(&whole);
            limits.map_err(|error| refuse(error.to_string()))?;
            dead_letter(&whole).map_err(refuse)?;
            queues.insert(checked, DeclaredQueue { named, whole });
        }
        Ok(DeclaredQueues(queues))
    }
}

/// What was done for the declared queues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Declared {
    /// Queues that were made.
    pub made: Vec<QueueName>,
    /// Queues that were there with other settings.
    pub changed: Vec<QueueName>,
}

impl DeclaredQueues {
    /// Whether none is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names in their order.
    pub fn names(&self) -> impl Iterator<Item = &QueueName> {
        self.0.keys()
    }

    /// Makes the queues that are not there, and gives the others the settings that are declared;
    /// settings that are not declared stay as they are (S14.7). Costs a transaction for each queue
    /// that is made or changed.
    ///
    /// # Errors
    /// `Invalid` for a dead-letter queue that is neither declared nor there, before anything is
    /// done, and for a queue that is there of the other kind (FIFO or standard), which it names;
    /// storage errors.
    pub async fn declare(&self, engine: &Engine) -> Result<Declared, Error> {
        for (name, queue) in &self.0 {
            if let Some(dead_letter) = &queue.whole.dead_letter {
                self.check_dead_letter(engine, name, dead_letter).await?;
            }
        }
        let mut done = Declared::default();
        for (name, DeclaredQueue { named, whole }) in &self.0 {
            let told = |error: Error| error.with("declared_queue", name);
            let invalid = |what: String| told(Error::new(ErrorKind::Invalid, what));
            let made = !is_there(engine, name).await.map_err(told)?;
            // Another server may make it at the same moment.
            let queue = engine.queue_or_create(name.as_str(), whole).await.map_err(told)?;
            if made {
                done.made.push(name.clone());
            }
            let wanted = |present: &QueueSettings| changed(present, named);
            if wanted(&queue.info().settings).map_err(invalid)? != queue.info().settings {
                queue.change(wanted).await.map_err(told)?.map_err(invalid)?;
                done.changed.push(name.clone());
            }
        }
        Ok(done)
    }

    async fn check_dead_letter(
        &self,
        engine: &Engine,
        name: &QueueName,
        dead_letter: &QueueName,
    ) -> Result<(), Error> {
        if self.0.contains_key(dead_letter) || is_there(engine, dead_letter).await? {
            return Ok(());
        }
        let text =
            format!("dead_letter is {dead_letter}, and there is no such queue; declare it too");
        Err(Error::new(ErrorKind::Invalid, text).with("declared_queue", name))
    }
}
