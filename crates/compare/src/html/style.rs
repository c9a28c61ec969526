//! The style sheet and the script of the page.

/// Colours, type and layout; for screens wide and narrow, light and dark, and for paper.
pub const STYLE: &str = include_str!("page.css");

/// Sorts tables.
pub(crate) const SORT: &str = include_str!("sort.js");

/// Hash of [`SORT`], made as that of [`SCRIPT`].
pub(crate) const SORT_HASH: &str = "sha256-NiypewwtDJNzYfj8ETreubROFdepQU5daV+4mhvwiJ4=";

/// Filters and sorts.
pub(crate) const SCRIPT: &str = concat!(include_str!("sort.js"), include_str!("filter.js"));

/// Hash of [`SCRIPT`] for the content policy, so that no other script runs: the output of
/// `cat sort.js filter.js | openssl dgst -sha256 -binary | base64`.
pub(crate) const SCRIPT_HASH: &str = "sha256-gnNLnmnUdYmIG/ymxpMO84LKfy6ob0Ig5Es4Hzny/UM=";

#[cfg(test)]
mod tests {
    use super::STYLE;

    type Rgb = [f64; 3];

    /// Linear RGB as colour-blind eyes see it: nothing missing, then protanopia, deuteranopia and
    /// tritanopia. Source: Machado, Oliveira and Fernandes 2009, severity 1.
    const EYES: [[Rgb; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];

    fn times(matrix: &[Rgb; 3], v: Rgb) -> Rgb {
        matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    /// A colour of the `nth` block that sets it, as linear RGB: 0 light, 1 dark, 2 paper.
    fn colour(name: &str, nth: usize) -> Rgb {
        let needle = format!("--{name}: #");
        let (at, _) = STYLE.match_indices(&needle).nth(nth).unwrap();
        let hex = &STYLE[at + needle.len()..][..6];
        [0, 2, 4].map(|at| {
            let c = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Contrast of two colours. Source: WCAG 2.2, contrast ratio.
    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let luminance = |c: Rgb| 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2] + 0.05;
        let (a, b) = (luminance(a), luminance(b));
        a.max(b) / a.min(b)
    }

    /// Distance of two colours as an eye sees them. Source: Ottosson 2020, Oklab.
    fn distance(a: Rgb, b: Rgb) -> f64 {
        let lab = |c: Rgb| {
            let lms = times(
                &[
                    [0.412_221_47, 0.536_332_54, 0.051_445_99],
                    [0.211_903_50, 0.680_699_55, 0.107_396_96],
                    [0.088_302_46, 0.281_718_84, 0.629_978_70],
                ],
                c.map(|channel| channel.clamp(0.0, 1.0)),
            );
            times(
                &[
                    [0.210_454_26, 0.793_617_79, -0.004_072_05],
                    [1.977_998_50, -2.428_592_21, 0.450_593_71],
                    [0.025_904_04, 0.782_771_77, -0.808_675_77],
                ],
                lms.map(f64::cbrt),
            )
        };
        let (a, b) = (lab(a), lab(b));
        (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn all_text_can_be_read() {
        for nth in 0..3 {
            let texts: &[&str] =
                if nth == 2 { &["ink", "soft"] } else { &["ink", "soft", "link", "good", "bad"] };
            for name in texts.iter().chain(&["c0", "c1", "c2", "c3", "c4", "c5"]) {
                let found = contrast(colour(name, nth), colour("paper", nth));
                assert!(4.5 <= found, "{name} in scheme {nth}: {found}");
            }
            for name in ["ink", "soft"] {
                let found = contrast(colour(name, nth), colour("raised", nth));
                assert!(4.5 <= found, "{name} on a raised ground in scheme {nth}: {found}");
            }
        }
        for ground in ["ins", "del"] {
            for nth in 0..2 {
                assert!(4.5 <= contrast(colour("ink", nth), colour(ground, nth)), "{ground}");
            }
        }
    }

    #[test]
    fn arms_are_told_apart_by_all_eyes() {
        for nth in 0..3 {
            let arms = ["c0", "c1", "c2", "c3", "c4", "c5"].map(|name| colour(name, nth));
            for (a, b) in (0..6).flat_map(|b| (0..b).map(move |a| (a, b))) {
                for (kind, eye) in EYES.iter().enumerate() {
                    let found = distance(times(eye, arms[a]), times(eye, arms[b]));
                    assert!(0.1 <= found, "c{a} and c{b} in scheme {nth} for eye {kind}: {found}");
                }
            }
        }
    }
}
