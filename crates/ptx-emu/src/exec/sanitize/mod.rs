//! What is watched beside bounds: undefined values, races, the first number that is not finite.

pub(super) mod taint;
