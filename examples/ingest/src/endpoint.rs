//! The far end of the notifications: an HTTP server on loopback that refuses a share of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use anyhow::{Context, Result, anyhow};
use tiny_http::{Request, Response, Server};

/// The same requests are refused in every run, as far as they come in the same order.
const SEED: u64 = 1;

/// A running server. Dropping it stops the server and waits for nobody.
pub(crate) struct Endpoint {
    server: Arc<Server>,
    answers: Arc<Answers>,
    url: String,
}

#[derive(Debug, Default)]
struct Answers {
    taken: AtomicU64,
    refused: AtomicU64,
}

impl Endpoint {
    /// Listens on a free port and answers `flaky` of all requests with 503, the others with 204.
    pub(crate) fn start(flaky: f64) -> Result<Self> {
        let server = Server::http("127.0.0.1:0")
            .map_err(|error| anyhow!(error))
            .context("cannot start the endpoint")?;
        let address = server.server_addr();
        let (server, answers) = (Arc::new(server), Arc::<Answers>::default());
        thread::Builder::new().name("endpoint".to_owned()).spawn({
            let (server, answers) = (Arc::clone(&server), Arc::clone(&answers));
            move || {
                let mut chance = fastrand::Rng::with_seed(SEED);
                for request in server.incoming_requests() {
                    answer(request, chance.f64() < flaky, &answers);
                }
            }
        })?;
        Ok(Self { server, answers, url: format!("http://{address}/finished") })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// How many requests were taken, and how many refused.
    pub(crate) fn answered(&self) -> (u64, u64) {
        (self.answers.taken.load(Relaxed), self.answers.refused.load(Relaxed))
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.server.unblock();
    }
}

fn answer(request: Request, refuse: bool, answers: &Answers) {
    let (status, counter) = if refuse { (503, &answers.refused) } else { (204, &answers.taken) };
    counter.fetch_add(1, Relaxed);
    // A client that has gone does not want its answer.
    let _ = request.respond(Response::empty(status));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(url: &str) -> u16 {
        let agent = ureq::Agent::config_builder().proxy(None).http_status_as_error(false).build().new_agent();
        agent.post(url).send("{}").expect("an answer").status().as_u16()
    }

    #[test]
    fn the_share_of_refusals_is_what_was_asked_for() {
        for (flaky, least, most) in [(0.0, 0, 0), (0.5, 60, 140), (1.0, 200, 200)] {
            let endpoint = Endpoint::start(flaky).expect("a free port");
            let refused = (0..200).filter(|_| post(endpoint.url()) == 503).count();
            assert!((least..=most).contains(&refused), "{refused} of 200 at {flaky}");
            assert_eq!(endpoint.answered(), (200 - refused as u64, refused as u64));
        }
    }
}
