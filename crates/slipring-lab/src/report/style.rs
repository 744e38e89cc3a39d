//! How the page looks.

/// The style sheet; light and dark.
pub const CSS: &str = "\
:root{color-scheme:light dark}\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
h2{margin-top:3rem;border-top:1px solid #8888;padding-top:1rem}\
table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums}\
caption{text-align:left;font-weight:600;padding:.3rem 0}\
th,td{padding:.15rem .8rem;text-align:right;border-bottom:1px solid #8884}\
th:first-child,td:first-child,td.unit{text-align:left}\
td.pass{color:#17803d}\
td.miss,p.incomplete{color:#c02626;font-weight:600}\
pre{overflow-x:auto;font-size:.8rem}\
code{overflow-wrap:anywhere}\
figure{margin:1rem 0}\
figure svg{max-width:100%;height:auto}\
";
