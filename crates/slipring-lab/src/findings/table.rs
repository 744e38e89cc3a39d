//! A table of figures.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table as Printed};
use serde::{Deserialize, Serialize};

/// Rows under headed columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The heads, with units.
    pub columns: Vec<String>,
    /// As many cells in each as there are columns.
    pub rows: Vec<Vec<String>>,
}

/// How the title of a table ends that shows a course by time, for which there is a plot as well.
pub const BY_TIME: &str = "by time";

impl Table {
    /// Whether it shows a course by time.
    pub fn is_by_time(&self) -> bool {
        self.title.ends_with(BY_TIME)
    }

    /// A table without rows.
    pub fn new(title: &str, columns: &[&str]) -> Table {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Table { title: title.to_owned(), columns, rows: Vec::new() }
    }

    /// Adds a row; cells that are missing stay empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), String::new());
        self.rows.push(cells);
    }

    /// For people: the first column to the left, figures to the right.
    pub fn text(&self) -> String {
        let mut printed = Printed::new();
        printed.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        printed.set_header(&self.columns);
        for row in &self.rows {
            printed.add_row(row);
        }
        for column in printed.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        format!("{}\n{printed}\n", self.title)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_to_the_right() {
        let mut table = Table::new("title", &["what", "figure"]);
        table.row(["a".to_owned(), "1".to_owned()]);
        table.row(["b".to_owned()]);
        let text = table.text();
        assert!(text.starts_with("title\n"), "{text}");
        assert!(text.contains(" a          1"), "{text}");
        assert_eq!(table.rows[1], ["b", ""]);
    }
}
