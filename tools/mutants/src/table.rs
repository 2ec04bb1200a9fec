//! What is taken away, and which model must fail for it.

mod attempts;
mod closing;
mod library;
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
    /// The models that must fail, below `models`, each of them.
    pub(crate) tests: &'static [&'static str],
    /// What goes wrong without it.
    pub(crate) purpose: &'static str,
}

impl Mutant {
    /// Without a word every one does.
    pub(crate) fn matches(&self, words: &[String]) -> bool {
        let has = |word: &String| {
            let mut texts = self.tests.iter().chain([&self.name, &self.file]);
            texts.any(|text| text.contains(&**word))
        };
        words.is_empty() || words.iter().any(has)
    }
}

pub(crate) fn all() -> impl Iterator<Item = &'static Mutant> {
    [
        sleeping::MUTANTS,
        closing::MUTANTS,
        window::MUTANTS,
        waiting::MUTANTS,
        limit::MUTANTS,
        tracked::MUTANTS,
        library::MUTANTS,
        attempts::MUTANTS,
    ]
    .into_iter()
    .flatten()
}
