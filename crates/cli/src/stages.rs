//! How long each stage of a run took.

use std::fmt;
use std::time::{Duration, Instant};

/// Stages in the order in which they ran.
#[derive(Debug, Default)]
pub(crate) struct Stages(Vec<(&'static str, Duration)>);

impl Stages {
    /// Runs `work` and notes its time.
    pub(crate) fn time<T>(&mut self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.0.push((stage, start.elapsed()));
        result
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (stage, time)) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            write!(f, "{separator}{stage} {:.3} ms", time.as_secs_f64() * 1e3)?;
        }
        Ok(())
    }
}
