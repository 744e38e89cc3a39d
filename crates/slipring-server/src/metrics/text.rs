//! Prometheus' text format, version 0.0.4.

use std::borrow::Cow;
use std::fmt::{Display, Write};

/// A document that grows family by family.
#[derive(Debug, Default)]
pub(super) struct Text(String);

/// One metric family; its samples follow its head.
pub(super) struct Family<'a> {
    text: &'a mut String,
    name: &'static str,
}

impl Text {
    pub(super) fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    pub(super) fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { text: &mut self.0, name }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

impl Family<'_> {
    /// The only sample of a family without labels.
    pub(super) fn plain(&mut self, value: impl Display) {
        let _ = writeln!(self.text, "{} {value}", self.name);
    }

    /// One sample with labels.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.labelled("", labels, value);
    }

    /// The samples of one histogram: `bounds` are upper bounds with the counts up to them, the
    /// last one of all.
    pub(super) fn histogram(&mut self, labels: &[(&str, &str)], bounds: &[(f64, u64)], sum: f64) {
        for (bound, count) in bounds {
            let bound = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
            self.labelled("_bucket", &[labels, &[("le", bound.as_str())]].concat(), count);
        }
        self.labelled("_sum", labels, sum);
        self.labelled("_count", labels, bounds.last().map_or(0, |(_, count)| *count));
    }

    fn labelled(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        for (index, (label, value)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(value));
        }
        let _ = writeln!(self.text, "}} {value}");
    }
}

fn escaped(value: &str) -> Cow<'_, str> {
    // Names of queues, and all other labels, need none.
    if !value.contains(['\\', '"', '\n']) {
        return Cow::Borrowed(value);
    }
    Cow::Owned(value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_written_with_head_labels_and_escapes() {
        let mut text = Text::default();
        text.gauge("a", "Help.").plain(1);
        text.counter("b_total", "More.").sample(&[("x", "q\"\\"), ("y", "z")], 2.5);
        text.histogram("c", "Waits.").histogram(
            &[("k", "v")],
            &[(0.5, 1), (f64::INFINITY, 3)],
            9.0,
        );
        assert_eq!(
            text.finish(),
            "# HELP a Help.\n# TYPE a gauge\na 1\n\
             # HELP b_total More.\n# TYPE b_total counter\nb_total{x=\"q\\\"\\\\\",y=\"z\"} 2.5\n\
             # HELP c Waits.\n# TYPE c histogram\nc_bucket{k=\"v\",le=\"0.5\"} 1\n\
             c_bucket{k=\"v\",le=\"+Inf\"} 3\nc_sum{k=\"v\"} 9\nc_count{k=\"v\"} 3\n"
        );
    }
}
