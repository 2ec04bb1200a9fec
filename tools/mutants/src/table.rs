//! What is taken away, and which model must fail for it.

mod closing;
mod limit;
mod sleeping;
mod tracked;
mod waiting;
mod window;

/// One change of one place.
pub(crate) struct Mutant {
    pub(crate) name: &'static str,
    /// Where the text is, from the root of the library.
    pub(crate) file: &'static str,
    /// Occurs once there.
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
    /// The model that must fail, below `models`.
    pub(crate) test: &'static str,
    /// What goes wrong without it.
    pub(crate) purpose: &'static str,
}

impl Mutant {
    pub(crate) fn matches(&self, word: Option<&str>) -> bool {
        word.is_none_or(|word| self.name.contains(word) || self.file.contains(word))
    }
}

pub(crate) fn all() -> impl Iterator<Item = &'static Mutant> {
    [sleeping::MUTANTS, closing::MUTANTS, window::MUTANTS, waiting::MUTANTS, limit::MUTANTS, tracked::MUTANTS]
        .into_iter()
        .flatten()
}
