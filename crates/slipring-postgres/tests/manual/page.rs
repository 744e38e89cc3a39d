//! The page as the tests read it: sections with their tables, and the blocks that are run.

/// What the page says, taken apart.
pub struct Page {
    /// The blocks that are run, in their order.
    pub blocks: Vec<Block>,
    /// Everything outside of blocks, by heading.
    pub sections: Vec<Section>,
}

/// A fenced block of SQL.
pub struct Block {
    /// Where its fence stands, counted from 1.
    pub line: usize,
    /// The heading that it stands below.
    pub title: String,
    /// Who runs it: the rest of its first line, `-- as USER`; empty where that is missing.
    pub user: String,
    pub sql: String,
    /// The lines of the block of text that follows it, as [`cells`] makes them; empty without one.
    pub shown: Vec<String>,
}

/// What stands below a heading, up to the next one.
pub struct Section {
    pub title: String,
    pub lines: Vec<String>,
}

impl Page {
    /// Takes a page apart.
    pub fn of(text: &str) -> Page {
        let mut page = Page { blocks: Vec::new(), sections: Vec::new() };
        let mut fence: Option<(String, usize, Vec<&str>)> = None;
        // Whether nothing has come since a block of SQL.
        let mut follows = false;
        for (at, line) in text.lines().enumerate() {
            let opened = line.strip_prefix("```");
            match (opened, fence.take()) {
                (Some(kind), None) => fence = Some((kind.to_owned(), at + 1, Vec::new())),
                (Some(_), Some((kind, at, lines))) => {
                    follows = page.close(&kind, at, &lines, follows);
                }
                (None, Some((kind, at, mut lines))) => {
                    lines.push(line);
                    fence = Some((kind, at, lines));
                }
                (None, None) => {
                    follows = follows && line.is_empty();
                    page.prose(line);
                }
            }
        }
        page
    }

    /// The section of a heading.
    pub fn section(&self, title: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.title == title)
    }

    fn prose(&mut self, line: &str) {
        if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_owned();
            self.sections.push(Section { title, lines: Vec::new() });
        } else if let Some(section) = self.sections.last_mut() {
            section.lines.push(line.to_owned());
        }
    }

    /// Takes a block in; answers whether a block of text after it shows what it prints.
    fn close(&mut self, kind: &str, line: usize, lines: &[&str], follows: bool) -> bool {
        if kind == "sql" {
            let user = lines.first().and_then(|first| first.strip_prefix("-- as "));
            self.blocks.push(Block {
                line,
                title: self.sections.last().map_or(String::new(), |last| last.title.clone()),
                user: user.unwrap_or_default().to_owned(),
                sql: lines.join("\n"),
                shown: Vec::new(),
            });
        } else if kind == "text"
            && follows
            && let Some(block) = self.blocks.last_mut()
        {
            block.shown = lines.iter().filter_map(|line| cells(line)).collect();
        }
        kind == "sql"
    }
}

impl Section {
    /// The rows of the table whose first column has a heading, without what the last column says;
    /// marks of code are taken away.
    pub fn table(&self, heading: &str) -> Vec<Vec<String>> {
        let head = format!("| {heading} |");
        let from = self.lines.iter().skip_while(|line| !line.starts_with(&head)).skip(2);
        from.take_while(|line| line.starts_with('|'))
            .map(|line| {
                let mut row: Vec<String> = line.trim_matches('|').split('|').map(plain).collect();
                row.pop();
                row
            })
            .collect()
    }

    /// Whether a line of it is this one.
    pub fn has(&self, line: &str) -> bool {
        self.lines.iter().any(|own| own == line)
    }
}

fn plain(cell: &str) -> String {
    cell.replace('`', "").trim().to_owned()
}

/// A line of what `psql` prints, however wide its columns are; `None` for one that only divides.
pub fn cells(line: &str) -> Option<String> {
    let line = line.trim();
    if line.chars().all(|c| matches!(c, '-' | '+')) {
        return None;
    }
    Some(line.split('|').map(str::trim).collect::<Vec<_>>().join(" | "))
}

/// Whether a line is as a shown one, in which `…` stands for anything.
pub fn is_shown(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let Some(last) = shown.rsplit_once('…').map(|(_, last)| last) else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    line.len() >= first.len() + last.len() && line.ends_with(last)
}
