//! The ops that are worked on, in a few lines.

use super::printable::printable;
use crate::report::Screen;

/// Lines of ops.
const MAX_OPS: usize = 6;

/// Columns of an op's name.
const NAME: usize = 14;

/// The ops that are worked on, each with its state. While others wait for a line, an op keeps its own until
/// it is done.
#[derive(Default)]
pub(super) struct Board {
    shown: Vec<Row>,
    /// Ops without a line, in the order of their beginning.
    others: Vec<Row>,
}

struct Row {
    op: String,
    state: String,
}

impl Board {
    pub(super) fn start(&mut self, op: &str) {
        let row = Row { op: op.to_owned(), state: String::new() };
        if self.shown.len() < MAX_OPS { self.shown.push(row) } else { self.others.push(row) }
    }

    pub(super) fn set(&mut self, op: &str, state: String) {
        let rows = || self.shown.iter().chain(&self.others);
        // Attempts name an op's folder, which is its name but for overloads that are not the canonical one.
        let at = rows().position(|row| row.op == op).unwrap_or_default();
        if let Some(row) = self.shown.iter_mut().chain(&mut self.others).nth(at) {
            row.state = state;
        }
    }

    pub(super) fn finish(&mut self, op: &str) {
        self.others.retain(|row| row.op != op);
        let Some(at) = self.shown.iter().position(|row| row.op == op) else { return };
        if self.others.is_empty() {
            self.shown.remove(at);
        } else {
            self.shown[at] = self.others.remove(0);
        }
    }

    /// Returns at most [`MAX_OPS`] lines and one for all other ops, none of them wider than the screen.
    pub(super) fn lines(&self, screen: Screen) -> Vec<String> {
        let line = |Row { op, state }: &Row| {
            screen.cut(&printable(&format!("{op:>NAME$} {state}"), false))
        };
        let mut lines: Vec<String> = self.shown.iter().map(line).collect();
        if !self.others.is_empty() {
            lines.push(screen.cut(&format!("{:>NAME$} and {} more", "", self.others.len())));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCREEN: Screen = Screen { width: Some(40), color: false };

    #[test]
    fn forty_ops_have_seven_lines_that_fit() {
        let mut board = Board::default();
        for n in 0..40 {
            board.start(&format!("op{n}"));
            board
                .set(&format!("op{n}"), "attempt 1: waiting for the reply of the model".to_owned());
        }
        let lines = board.lines(SCREEN);
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[0], "           op0 attempt 1: waiting for t…");
        assert_eq!(lines[6], "               and 34 more");
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{lines:#?}");
    }

    #[test]
    fn an_op_keeps_its_line_and_leaves_it_to_the_one_that_waited_longest() {
        let mut board = Board::default();
        for n in 0..9 {
            board.start(&format!("op{n}"));
        }
        board.finish("op2");
        board.finish("op7");
        let ops = |board: &Board| {
            let lines = board.lines(SCREEN);
            lines.iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(ops(&board), "op0 op1 op6 op3 op4 op5 and 1 more");
        for n in [8, 0, 1, 6, 3, 4] {
            board.finish(&format!("op{n}"));
        }
        board.set("op5", "compile".to_owned());
        assert_eq!(ops(&board), "op5 compile");
        board.start("op9");
        assert_eq!(ops(&board), "op5 compile op9");
        board.finish("op5");
        board.finish("op9");
        assert!(board.lines(SCREEN).is_empty());
    }
}
