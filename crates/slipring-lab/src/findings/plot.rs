//! A plot as data, and drawn as SVG.

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use serde::{Deserialize, Serialize};

use crate::run::condition::number;

/// Lines over two axes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    /// What its file is called, after the name of the investigation.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// The lines.
    pub series: Vec<Series>,
}

/// One axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// Each step is ten times the last; values of 0 and below are not drawn.
    pub logarithmic: bool,
}

impl Axis {
    /// An axis from 0 on, or from the smallest value if that is below.
    pub fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), logarithmic: false }
    }

    /// An axis whose steps multiply.
    pub fn logarithmic(label: &str) -> Axis {
        Axis { label: label.to_owned(), logarithmic: true }
    }

    /// Where a value lies on the axis; nothing for one that cannot be drawn.
    fn place(&self, value: f64) -> Option<f64> {
        let place = if self.logarithmic { value.log10() } else { value };
        place.is_finite().then_some(place)
    }

    /// What is written at a place.
    fn mark(&self, place: f64) -> String {
        let value = if self.logarithmic { 10f64.powf(place) } else { place };
        let text = number(value);
        text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
    }

    /// From where to where the axis goes, so that all places are on it.
    fn range(&self, places: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in places {
            (low, high) = (low.min(place), high.max(place));
        }
        if low > high {
            return 0.0..1.0;
        }
        if self.logarithmic {
            (low, high) = (low.floor(), high.ceil());
        } else {
            (low, high) = (low.min(0.0), high + (high - low.min(0.0)) * 0.05);
        }
        if low < high { low..high } else { low..low + 1.0 }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

/// Width and height in pixels.
const SIZE: (u32, u32) = (900, 520);

impl Plot {
    /// The drawing. Points that the axes cannot show are left out.
    ///
    /// # Errors
    /// None in practice: the drawing is made in memory.
    pub fn svg(&self) -> Result<String> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|error| anyhow!("drawing {}: {error}", self.name))?;
        Ok(svg)
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let lines: Vec<(&str, Vec<(f64, f64)>)> =
            self.series.iter().map(|series| (series.name.as_str(), self.places(series))).collect();
        let places = || lines.iter().flat_map(|(_, points)| points);
        let x = self.x.range(places().map(|(x, _)| *x));
        let y = self.y.range(places().map(|(_, y)| *y));
        let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(14)
            .x_label_area_size(46)
            .y_label_area_size(80)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&|place| self.x.mark(*place))
            .y_label_formatter(&|place| self.y.mark(*place))
            .light_line_style(WHITE)
            .draw()?;
        for (index, (name, points)) in lines.iter().enumerate() {
            let style = Palette99::pick(index).stroke_width(2);
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style).point_size(3))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()?;
        Ok(())
    }

    fn places(&self, series: &Series) -> Vec<(f64, f64)> {
        let points = series.points.iter();
        points.filter_map(|(x, y)| Some((self.x.place(*x)?, self.y.place(*y)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_shows_what_its_axes_can_and_names_its_lines() {
        let points = vec![(1.0, 0.0), (10.0, 5.0), (100.0, f64::NAN), (1000.0, 500.0)];
        let plot = Plot {
            name: "x".into(),
            title: "a & b".into(),
            x: Axis::logarithmic("threads"),
            y: Axis::logarithmic("ms"),
            series: vec![Series { name: "ours".into(), points }],
        };
        assert_eq!(plot.places(&plot.series[0]).len(), 2);
        let svg = plot.svg().unwrap();
        for word in ["a &amp; b", "threads", "ours", "1,000"] {
            assert!(svg.contains(word), "{word}: {svg}");
        }
    }

    #[test]
    fn a_plot_of_nothing_is_a_drawing_too() {
        let (x, y) = (Axis::linear("x"), Axis::linear("y"));
        let plot = Plot { name: "x".into(), title: "t".into(), x, y, series: Vec::new() };
        assert!(plot.svg().unwrap().ends_with("</svg>\n"));
    }
}
