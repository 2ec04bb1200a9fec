//! Gates, a watchdog, and the law.
