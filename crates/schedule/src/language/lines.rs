//! Which line of a schedule's text a step comes from: a spelling stands for several steps, and errors name what was
//! written.

use super::Opt;

/// A line, and how many steps it stands for. Without text it is none of the schedule's own.
#[derive(Clone, Debug)]
struct Line {
    text: String,
    steps: usize,
}

/// The lines that steps were read from; none where they were made otherwise.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines(Vec<Line>);

/// A step as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Counted from 1 among those that were written; 0 for one that was added to them.
    pub number: usize,
    /// The text.
    pub text: String,
    /// The step itself, where the text stands for several.
    pub step: Option<String>,
}

impl Lines {
    /// Adds a line that stands for the next `steps` steps.
    pub(super) fn push(&mut self, text: &str, steps: usize) {
        self.0.push(Line { text: text.into(), steps });
    }

    /// The lines of `opts` behind one more step, which nobody wrote.
    pub(super) fn after_another(self, opts: &[Opt]) -> Lines {
        let added = Line { text: String::new(), steps: 1 };
        Lines([added].into_iter().chain(self.for_steps(opts)).collect())
    }

    /// How the step at a position of `opts` was written.
    pub(super) fn of(&self, opts: &[Opt], at: usize) -> Written {
        let (mut number, mut steps) = (0, 0);
        for line in self.clone().for_steps(opts) {
            number += usize::from(!line.text.is_empty());
            steps += line.steps;
            if at < steps {
                let step = opts[at].to_string();
                return match line {
                    Line { text, .. } if text.is_empty() => Written { number: 0, text: step, step: None },
                    Line { text, steps: 1 } => Written { number, text, step: None },
                    Line { text, .. } => Written { number, text, step: Some(step) },
                };
            }
        }
        unreachable!("a step is one of those that the lines stand for, which are as many")
    }

    /// The lines, if they are those of all of `opts`; else a line for each.
    fn for_steps(self, opts: &[Opt]) -> Vec<Line> {
        if self.0.iter().map(|line| line.steps).sum::<usize>() == opts.len() {
            return self.0;
        }
        opts.iter().map(|opt| Line { text: opt.to_string(), steps: 1 }).collect()
    }
}
