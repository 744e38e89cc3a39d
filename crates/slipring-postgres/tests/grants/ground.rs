//! Two queues, and roles that are granted rights in them.

use slipring_testbed::{Cluster, Database, one, refusal, run};
use tokio_postgres::Client;

/// A database with the queues `mine` and `other`, a session of its owner, and roles of its own.
pub struct Ground {
    pub cluster: &'static Cluster,
    pub database: Database,
    pub owner: Client,
}

pub async fn ground() -> Ground {
    let cluster = Cluster::shared();
    let database = cluster.database().await;
    let owner = cluster.client(&database).await;
    run(&owner, "SELECT slipring.create_queue('mine'), slipring.create_queue('other')").await;
    Ground { cluster, database, owner }
}

impl Ground {
    /// A role of this test's, and a session of it in a database.
    pub async fn user(&self, name: &str, database: &str) -> (String, Client) {
        let role = format!("{}_{name}", self.database.name);
        let session = self.cluster.superuser(database).await;
        let make = format!(
            "DO $$ BEGIN CREATE ROLE {role}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
             SET SESSION AUTHORIZATION {role}"
        );
        run(&session, &make).await;
        (role, session)
    }

    pub async fn here(&self, name: &str) -> (String, Client) {
        self.user(name, &self.database.name).await
    }

    /// A call with the queue's name, a receipt, a message and a load of its own.
    pub async fn call(&self, text: &str, queue: &str) -> String {
        let mut text = text.replace("{q}", queue);
        if text.contains("{receipt}") {
            let receive = format!(
                "SELECT slipring.send('{queue}', 'x'::text);
                 SELECT slipring.purge('{queue}'); SELECT slipring.send('{queue}', 'y'::text)"
            );
            run(&self.owner, &receive).await;
            let sql = format!("SELECT receipt FROM slipring.receive('{queue}')");
            let receipt: String = self.owner.query_one(&sql, &[]).await.unwrap().get(0);
            text = text.replace("{receipt}", &receipt);
        }
        if text.contains("{id}") {
            let sent = format!("SELECT slipring.send('{queue}', 'x'::text)");
            text = text.replace("{id}", &one(&self.owner, &sent).await.to_string());
        }
        if text.contains("{load}") {
            let load = one(&self.owner, &format!("SELECT slipring.load_begin('{queue}')")).await;
            text = text.replace("{load}", &load.to_string());
        }
        text
    }
}

/// SQLSTATE and message of what a call fails with.
pub async fn refused(client: &Client, call: &str) -> String {
    let error = refusal(client, call).await;
    format!("{} {}", error.code().code(), error.message())
}
