//! One of several drawings that a reader chooses from.

use super::{Context, Group, Picture, group::Slice, heat, lines};

/// A quantity over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Time,
    Bandwidth,
    Speedup,
}

impl Quantity {
    pub(crate) const ALL: [Self; 3] = [Self::Time, Self::Bandwidth, Self::Speedup];

    /// As in names of files and classes.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Bandwidth => "bandwidth",
            Self::Speedup => "speedup",
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Time => "Time",
            Self::Bandwidth => "GB/s",
            Self::Speedup => "Speedup",
        }
    }
}

/// The kind of a drawing; axes and implementations by position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Lines { axis: usize, quantity: Quantity },
    Heat { axes: (usize, usize), implementation: usize },
}

/// A drawing that is not made yet.
pub(crate) struct Panel<'g, 'a> {
    pub(crate) group: &'g Group<'a>,
    pub(crate) slice: Slice<'a>,
    pub(crate) shape: Shape,
}

impl Panel<'_, '_> {
    /// Draws it; `None` where nothing of it was measured.
    pub(crate) fn draw(&self, context: &Context<'_>) -> Option<Picture> {
        match self.shape {
            Shape::Lines { axis, quantity } => lines::picture(context, self, axis, quantity),
            Shape::Heat { axes, implementation } => {
                heat::over_axes(context, self, axes, implementation)
            }
        }
    }

    /// Its op, its type, the place of its slice, and its call where the op has several: `gelu f32, b = 16,
    /// d = 4096`.
    pub(crate) fn place(&self, context: &Context<'_>) -> String {
        let mut place = format!("{} {}", self.group.op, self.group.dtype);
        for fixed in &self.slice.fixed {
            place = format!("{place}, {} = {}", context.axis(fixed.axis), fixed.value);
        }
        match self.group.call {
            None => place,
            Some(call) => format!("{place}; {call}"),
        }
    }

    /// The words by which a choice finds it, each the name of a choice with a value.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let mut tokens = match self.shape {
            Shape::Lines { axis, quantity } => {
                vec![format!("kind-{}", quantity.id()), format!("along-{axis}")]
            }
            Shape::Heat { axes: (up, right), implementation } => {
                vec![format!("impl-{implementation}"), format!("along-{up}x{right}")]
            }
        };
        for fixed in &self.slice.fixed {
            tokens.push(format!("at{}-{}", fixed.axis, fixed.value));
            tokens.extend(fixed.is_largest.then(|| format!("at{}-max", fixed.axis)));
        }
        tokens
    }
}

/// Returns the lines and the heat maps of a group.
pub(crate) fn panels<'g, 'a>(
    context: &Context<'_>,
    group: &'g Group<'a>,
) -> [Vec<Panel<'g, 'a>>; 2] {
    let axes = &context.bench.axes;
    let long = group.long_axes(axes);
    let mut lines = Vec::new();
    for &axis in &long {
        for quantity in Quantity::ALL {
            let shape = Shape::Lines { axis, quantity };
            let slices = group.slices(axes, &[axis]).into_iter();
            lines.extend(slices.map(|slice| Panel { group, slice, shape }));
        }
    }
    let mut heat = Vec::new();
    for (nth, &up) in long.iter().enumerate() {
        for &right in &long[nth + 1..] {
            for implementation in 0..context.keys.len() {
                let shape = Shape::Heat { axes: (up, right), implementation };
                let slices = group.slices(axes, &[up, right]).into_iter();
                heat.extend(slices.map(|slice| Panel { group, slice, shape }));
            }
        }
    }
    [lines, heat]
}
