//! Who waits where, for reports of launches that cannot go on.

use std::fmt::Write as _;

use super::{
    Machine,
    warp::{Group, Wait, Warp},
};
use crate::{lower::opcode, report::LaunchError};

/// A barrier at which threads wait.
struct Open {
    id: u32,
    /// Threads that have come.
    arrived: u32,
    /// Threads that must come.
    wanted: u32,
}

/// Most places of a block that a message names.
const MAX_PLACES: usize = 8;

/// `warp 3`, `warps 0-3, 7`.
fn ranges(warps: &[u32]) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < warps.len() {
        let from = warps[at];
        let mut to = from;
        while at + 1 < warps.len() && warps[at + 1] <= to + 1 {
            at += 1;
            to = warps[at];
        }
        at += 1;
        text.push_str(if text.is_empty() { "" } else { ", " });
        let _ = if from == to { write!(text, "{from}") } else { write!(text, "{from}-{to}") };
    }
    format!("{} {text}", if warps.len() == 1 { "warp" } else { "warps" })
}

impl Machine<'_> {
    /// The state of a group of lanes, and its place.
    fn doing(&self, warp: &Warp, group: &Group, barriers: &[Open]) -> String {
        let (line, text) = self.program.place_of(group.pc);
        let doing = match group.wait {
            Wait::None => "running".to_owned(),
            Wait::Warp => "waiting for lanes".to_owned(),
            Wait::Block(id, _) => match barriers.iter().find(|b| b.id == id) {
                Some(Open { arrived, wanted, .. }) => {
                    format!("waiting at barrier {id} ({arrived} of {wanted} threads)")
                }
                None => format!("waiting at barrier {id}"),
            },
            Wait::Warpgroup(_) => "waiting for the other warps of the warpgroup".to_owned(),
            Wait::Cluster => "waiting at the cluster's barrier".to_owned(),
            Wait::Mbarrier(_) => {
                let name = self.awaited_mbarrier(warp, group).unwrap_or_default();
                format!("waiting for mbarrier {name}")
            }
        };
        let line = line.map(|l| format!("line {l}, ")).unwrap_or_default();
        format!("{doing} at {line}{}", opcode(&text))
    }

    /// How many threads have come to each barrier at which some wait.
    fn open_barriers(&self, warps: &[Warp]) -> Vec<Open> {
        let alive: u32 = warps.iter().map(|w| w.alive.count_ones()).sum();
        let mut list: Vec<Open> = Vec::new();
        for group in warps.iter().flat_map(|w| &w.groups) {
            let Wait::Block(id, count) = group.wait else { continue };
            let n = group.mask.count_ones();
            if let Some(open) = list.iter_mut().find(|open| open.id == id) {
                open.arrived += n;
                continue;
            }
            let arrived = n + self.block.arrivals.get(&id).copied().unwrap_or(0);
            list.push(Open { id, arrived, wanted: count.unwrap_or(alive) });
        }
        list
    }

    pub(super) fn first_line(&self, warps: &[Warp]) -> Option<u32> {
        warps.iter().flat_map(|w| &w.groups).find_map(|g| self.program.place_of(g.pc).0)
    }

    /// Where the threads of the running block are; warps that do the same are named together.
    pub(super) fn describe_all(&self, warps: &[Warp]) -> String {
        let barriers = self.open_barriers(warps);
        let mut parts: Vec<(String, Vec<u32>, u32)> = Vec::new();
        for warp in warps {
            for group in &warp.groups {
                let doing = self.doing(warp, group, &barriers);
                let n = group.mask.count_ones();
                match parts.iter_mut().find(|(text, ..)| *text == doing) {
                    Some((_, list, threads)) => {
                        list.push(warp.index);
                        *threads += n;
                    }
                    None => parts.push((doing, vec![warp.index], n)),
                }
            }
        }
        let more = parts.len().saturating_sub(MAX_PLACES);
        let [x, y, z] = self.block.at;
        let list: Vec<String> = parts
            .iter()
            .take(MAX_PLACES)
            .map(|(doing, warps, n)| {
                let plural = if *n == 1 { "" } else { "s" };
                format!("{} ({n} thread{plural}) {doing}", ranges(warps))
            })
            .collect();
        let mut text = format!("block ({x},{y},{z}): {}", list.join("; "));
        if more > 0 {
            let _ = write!(text, "; and more at {more} other places");
        }
        text
    }

    pub(super) fn out_of_budget(&self, warp: &Warp) -> LaunchError {
        let n = self.lane_instructions;
        let line = warp.groups.iter().find_map(|g| self.program.place_of(g.pc).0);
        let message = format!(
            "the budget of {} lane instructions is spent; {}",
            self.context.limits.lane_instructions,
            self.describe_all(std::slice::from_ref(warp))
        );
        LaunchError::Budget { lane_instructions: n, message, line }
    }
}
