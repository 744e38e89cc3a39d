//! A flame graph of waiting: how many sessions waited, by kind of wait, event, caller and those in
//! the way. Width is time spent waiting, counted in samples.

use std::path::Path;

use anyhow::{Context, Result};
use inferno::flamegraph::{self, Options, Palette, color::BasicPalette};

use super::classes::Class;
use super::profile::Profile;

/// The stacks as lines `frame;frame;frame samples`, which other tools read as well.
///
/// Our own wait classes know how long was waited in all; divided by the time between samples that
/// is the number of samples that would have seen them.
pub fn folded(profile: &Profile, classes: &[Class], every_ns: u64) -> Vec<String> {
    let mut lines: Vec<String> = profile
        .stacks()
        .map(|(stack, samples)| {
            let frames: Vec<String> = stack.iter().map(|frame| plain(frame)).collect();
            format!("{} {samples}", frames.join(";"))
        })
        .collect();
    lines.extend(of_classes(classes, every_ns));
    lines
}

/// The stacks of our own wait classes.
pub fn of_classes(classes: &[Class], every_ns: u64) -> Vec<String> {
    let lines = classes.iter().filter_map(|class| {
        let samples = class.total_ns / every_ns.max(1);
        (samples > 0).then(|| format!("Slipring;{} {samples}", plain(&class.name)))
    });
    lines.collect()
}

/// A frame: a semicolon would begin another one, and a line break another stack.
fn plain(frame: &str) -> String {
    frame.chars().map(|c| if c == ';' || c.is_control() { ',' } else { c }).collect()
}

/// The drawing as SVG; nothing when nothing waited.
///
/// # Errors
/// None in practice: it is made in memory.
pub fn svg(folded: &[String], title: &str) -> Result<Option<String>> {
    if folded.is_empty() {
        return Ok(None);
    }
    let mut options = Options::default();
    options.title = title.to_owned();
    options.count_name = "samples".to_owned();
    options.colors = Palette::Basic(BasicPalette::Io);
    // Names decide the colours, so that the same run gives the same drawing.
    options.deterministic = true;
    options.min_width = 0.0;
    let mut svg = Vec::new();
    let lines = folded.iter().map(String::as_str);
    flamegraph::from_lines(&mut options, lines, &mut svg).context("drawing the flame graph")?;
    Ok(Some(String::from_utf8(svg).context("a drawing that is no text")?))
}

/// Writes the drawing and its stacks into a folder that is there, as `NAME-flame.svg` and
/// `NAME-stacks.txt`; nothing when nothing waited.
///
/// # Errors
/// When they cannot be written.
pub fn keep(folded: &[String], folder: &Path, name: &str) -> Result<()> {
    let Some(svg) = svg(folded, "waiting")? else { return Ok(()) };
    for (ending, text) in [("flame.svg", svg), ("stacks.txt", folded.join("\n"))] {
        let path = folder.join(format!("{name}-{ending}"));
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::session::Session;
    use super::*;

    #[test]
    fn a_flame_graph_holds_sessions_and_wait_classes() {
        let session = Session {
            pid: 1,
            backend: Some("client backend".into()),
            state: Some("active".into()),
            wait_type: Some("IO".into()),
            wait_event: Some("WALSync".into()),
            caller: "app: SELECT a;b <x>".into(),
        };
        let mut profile = Profile::default();
        profile.add(&[session], &[]);
        let class =
            |name: &str, total_ns| Class { name: name.into(), total_ns, ..Class::default() };
        let classes = [class("sqlite.flush", 125_000_000), class("short", 49_000_000)];
        let lines = folded(&profile, &classes, 50_000_000);
        assert_eq!(lines, ["IO;WALSync;app: SELECT a,b <x> 1", "Slipring;sqlite.flush 2"]);
        let svg = svg(&lines, "waiting").unwrap().unwrap();
        assert!(svg.contains("<svg") && svg.contains("sqlite.flush"));
        assert!(svg.contains("SELECT a,b &lt;x&gt;"), "{svg}");
    }

    #[test]
    fn nothing_is_drawn_when_nothing_waited() {
        assert_eq!(svg(&folded(&Profile::default(), &[], 1), "t").unwrap(), None);
    }
}
