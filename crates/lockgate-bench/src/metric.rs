//! What a benchmark yields: named metrics, as JSON for machines.

use serde::Serialize;
use std::collections::BTreeMap;

/// One measured quantity.
#[derive(Debug, Clone, Serialize)]
pub struct Metric {
    /// Dotted name: `calls.native_indirect`.
    pub name: String,
    /// `ns`, `µs`, `ms`, `s`, `MiB/s`, `MB/s`, `1/s`, `KiB`, `ratio` or `count`.
    pub unit: &'static str,
    /// Middle of the samples.
    pub median: f64,
    /// Smallest sample.
    pub min: f64,
    /// The sample that 99 % of the samples do not exceed (nearest rank; the largest of fewer than 100).
    pub p99: f64,
    /// Largest sample.
    pub max: f64,
    /// Number of samples.
    pub samples: usize,
    /// This metric's median over that of each named metric of the same run.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub ratios: BTreeMap<String, f64>,
}

impl Metric {
    /// The metric `name` of `samples`, which may come in any order.
    ///
    /// # Panics
    /// Without samples: a benchmark that measured nothing has no result.
    pub fn new(name: impl Into<String>, unit: &'static str, mut samples: Vec<f64>) -> Self {
        let name = name.into();
        assert!(!samples.is_empty(), "{name}: no samples");
        samples.sort_by(f64::total_cmp);
        let count = samples.len();
        let median = (samples[(count - 1) / 2] + samples[count / 2]) / 2.0;
        let p99 = samples[(count * 99).div_ceil(100) - 1];
        let [min, max] = [samples[0], samples[count - 1]];
        Self { name, unit, median, min, p99, max, samples: count, ratios: BTreeMap::new() }
    }

    /// The same metric with its ratio to `other`.
    pub fn against(mut self, other: &Metric) -> Self {
        self.ratios.insert(other.name.clone(), self.median / other.median);
        self
    }
}

/// The result of a run: the machine and what was measured on it. Serialises to schema 1.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Version of the JSON form.
    pub schema: u32,
    /// Facts about the machine, by name.
    pub machine: BTreeMap<&'static str, String>,
    /// In the order in which they were measured.
    pub metrics: Vec<Metric>,
    /// What a reader must know beside the numbers: what was not measured, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Report {
    /// `metrics`, measured on this machine.
    pub fn new(metrics: Vec<Metric>) -> Self {
        Self { schema: 1, machine: crate::machine::facts(), metrics, notes: Vec::new() }
    }

    /// The metric `name`.
    pub fn get(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// The report as JSON, for `--json`.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain data serialises") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_minimum_and_99th_percentile() {
        let metric = Metric::new("x", "ns", vec![3.0, 1.0, 2.0, 10.0]);
        assert_eq!((metric.min, metric.median, metric.p99, metric.samples), (1.0, 2.5, 10.0, 4));
        let metric = Metric::new("x", "ns", (1..=1000).rev().map(f64::from).collect());
        assert_eq!((metric.min, metric.median, metric.p99, metric.max), (1.0, 500.5, 990.0, 1000.0));
    }

    #[test]
    fn json_has_the_fixed_form() {
        let native = Metric::new("a.native", "ns", vec![2.0]);
        let ours = Metric::new("a.ours", "ns", vec![3.0]).against(&native);
        let json: serde_json::Value =
            serde_json::from_str(&Report::new(vec![native, ours]).to_json()).unwrap();
        assert_eq!(json["schema"], 1);
        assert!(json["machine"]["cpu"].is_string());
        let metric = &json["metrics"][1];
        for field in ["name", "unit", "median", "min", "p99", "max", "samples"] {
            assert!(!metric[field].is_null(), "{field}");
        }
        assert_eq!(metric["ratios"]["a.native"], 1.5);
    }
}
