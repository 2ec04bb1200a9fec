//! The client of the endpoint: one POST per finished file.

use std::time::Duration;

use ureq::Agent;

use crate::error::IngestError;
use crate::job::Notice;

/// An endpoint that does not answer costs a worker this long, and the notice an attempt.
const PATIENCE: Duration = Duration::from_secs(2);

/// Posts notices; its connections are shared by all workers.
#[derive(Debug)]
pub(crate) struct Notifier {
    agent: Agent,
    url: String,
}

impl Notifier {
    pub(crate) fn new(url: &str, connections: usize) -> Self {
        let config = Agent::config_builder()
            // A proxy from the environment cannot see this loopback.
            .proxy(None)
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_idle_connections(connections)
            .max_idle_connections_per_host(connections)
            .build();
        Self { agent: config.new_agent(), url: url.to_owned() }
    }

    pub(crate) fn post(&self, notice: &Notice) -> Result<(), IngestError> {
        let body = serde_json::to_vec(notice).map_err(IngestError::Notice)?;
        let status = self.agent.post(&self.url).content_type("application/json").send(&body)?.status();
        if status.is_success() { Ok(()) } else { Err(IngestError::Status(status.as_u16())) }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::path::Path;
    use std::time::Instant;

    use super::*;
    use crate::endpoint::Endpoint;
    use crate::job::{Content, Facts};

    fn notice() -> Notice {
        let content = Content::Picture { width: 2, height: 1 };
        let facts = Facts { path: Path::new("a.png").into(), bytes: 9, sha256: String::new(), content };
        Notice { facts, thumbnail: Some("a-0.png".to_owned()) }
    }

    #[test]
    fn a_refusal_is_a_status_and_success_is_nothing() {
        let (willing, busy) = (Endpoint::start(0.0).expect("a port"), Endpoint::start(1.0).expect("a port"));
        assert!(Notifier::new(willing.url(), 1).post(&notice()).is_ok());
        let refused = Notifier::new(busy.url(), 1).post(&notice());
        assert!(matches!(refused, Err(IngestError::Status(503))));
    }

    #[test]
    fn an_endpoint_that_is_gone_or_silent_is_unreachable_and_holds_nobody() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = silent.local_addr().expect("bound");
        let notifier = Notifier::new(&format!("http://{address}/"), 1);
        let start = Instant::now();
        assert!(matches!(notifier.post(&notice()), Err(IngestError::Unreachable(_))));
        assert!(start.elapsed() < 3 * PATIENCE);
        drop(silent);
        assert!(matches!(notifier.post(&notice()), Err(IngestError::Unreachable(_))));
    }
}
