//! Why a task fails, and which failures are worth another attempt.

use std::io;

use dockhand::{Cause, Interrupted, RetryDecision};
use image::ImageError;
use thiserror::Error;

/// Why one task failed. The file is not part of it: the payload, which a dead letter keeps, names it.
#[derive(Debug, Error)]
pub(crate) enum IngestError {
    #[error("cannot open the file: {0}")]
    Open(#[source] io::Error),
    #[error("cannot read the file: {0}")]
    Read(#[source] io::Error),
    #[error("cannot decode the picture: {0}")]
    Decode(#[source] ImageError),
    #[error("the {what} takes {needed} bytes, more than the {limit} allowed")]
    TooLarge { what: &'static str, needed: u64, limit: u64 },
    #[error("cannot encode the thumbnail: {0}")]
    Encode(#[source] ImageError),
    #[error("cannot write the thumbnail: {0}")]
    Write(#[source] io::Error),
    #[error("cannot put the notice into words: {0}")]
    Notice(#[source] serde_json::Error),
    #[error("the endpoint answered {0}")]
    Status(u16),
    #[error("no answer from the endpoint: {0}")]
    Unreachable(#[source] ureq::Error),
    #[error("cannot make the request: {0}")]
    Request(#[source] ureq::Error),
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl IngestError {
    /// A busy or absent endpoint may be back soon; a broken file stays broken.
    fn is_transient(&self) -> bool {
        matches!(self, Self::Status(503) | Self::Unreachable(_))
    }
}

impl From<ureq::Error> for IngestError {
    fn from(error: ureq::Error) -> Self {
        use ureq::Error as Http;
        match error {
            Http::Io(_) | Http::Timeout(_) | Http::ConnectionFailed | Http::HostNotFound => {
                Self::Unreachable(error)
            }
            _ => Self::Request(error),
        }
    }
}

/// Whether the pool shall try again.
pub(crate) fn classify(cause: Cause<'_, IngestError>) -> RetryDecision {
    match cause {
        Cause::Error(error) if error.is_transient() => RetryDecision::Retry,
        _ => RetryDecision::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_endpoint_that_may_come_back_is_worth_another_attempt() {
        let retried = |error: IngestError| matches!(classify(Cause::Error(&error)), RetryDecision::Retry);
        assert!(retried(IngestError::Status(503)));
        assert!(retried(ureq::Error::ConnectionFailed.into()));
        assert!(retried(ureq::Error::Io(io::ErrorKind::ConnectionReset.into()).into()));
        assert!(!retried(IngestError::Status(404)));
        assert!(!retried(ureq::Error::BadUri("nowhere".to_owned()).into()));
        assert!(!retried(IngestError::Open(io::ErrorKind::NotFound.into())));
        assert!(matches!(classify(Cause::Panicked("decoder")), RetryDecision::GiveUp));
    }
}
