//! Who waits where, for reports of launches that cannot go on.

use super::{
    Machine,
    warp::{Wait, Warp},
};
use crate::{lower::opcode, report::Stop};

impl Machine<'_> {
    /// Where the warp's lanes are, a line per group.
    fn describe(&self, warp: &Warp) -> String {
        let mut parts = Vec::new();
        for group in &warp.groups {
            let (line, text) = self.program.place_of(group.pc);
            let n = group.mask.count_ones();
            let line = line.map(|l| format!("line {l}, ")).unwrap_or_default();
            let doing = match group.wait {
                Wait::None => "runs at",
                Wait::Warp => "waits for lanes at",
                Wait::Block(..) => "waits at the barrier of",
            };
            parts.push(format!(
                "warp {} ({n} threads) {doing} {line}{}",
                warp.index,
                opcode(&text)
            ));
        }
        parts.join("; ")
    }

    pub(super) fn first_line(&self, warps: &[Warp]) -> Option<u32> {
        warps.iter().flat_map(|w| &w.groups).find_map(|g| self.program.place_of(g.pc).0)
    }

    pub(super) fn describe_all(&self, warps: &[Warp]) -> String {
        let [x, y, z] = self.block;
        let waiting: Vec<String> =
            warps.iter().filter(|w| !w.groups.is_empty()).map(|w| self.describe(w)).collect();
        let more = waiting.len().saturating_sub(4);
        let mut text =
            format!("block ({x},{y},{z}): {}", waiting[..waiting.len() - more].join("; "));
        if more > 0 {
            text.push_str("; and more warps");
        }
        text
    }

    pub(super) fn out_of_budget(&self, warp: &Warp) -> Stop {
        let n = self.lane_instructions;
        let [x, y, z] = self.block;
        let line = warp.groups.iter().find_map(|g| self.program.place_of(g.pc).0);
        let message = format!(
            "the budget of {} lane instructions is spent; block ({x},{y},{z}): {}",
            self.limits.lane_instructions,
            self.describe(warp)
        );
        Stop::Budget { lane_instructions: n, message, line }
    }
}
