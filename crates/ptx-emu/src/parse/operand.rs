//! Operands of instructions, and constants.

use super::{Parser, Result};
use crate::{
    ast::Operand,
    lex::{Tok, Token},
};

/// Rank of products among operators.
const PRODUCT: u32 = 6;

impl<'a> Parser<'a> {
    pub(super) fn operand(&mut self) -> Result<Operand<'a>> {
        let first = self.simple_operand()?;
        if self.accept(b'|') {
            let second = self.simple_operand()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn simple_operand(&mut self) -> Result<Operand<'a>> {
        if self.accept(b'{') {
            return Ok(Operand::Vector(self.nested(|p| p.operands_until(b'}'))?));
        }
        if self.accept(b'(') {
            return Ok(Operand::List(self.nested(|p| p.operands_until(b')'))?));
        }
        if self.accept(b'[') {
            return self.nested(Self::address);
        }
        if self.accept(b'!') {
            return Ok(Operand::Not(self.word()?));
        }
        if let Some(value) = self.float() {
            return Ok(value);
        }
        match self.peek() {
            Some(&Tok::Word(name)) => {
                self.pos += 1;
                if matches!(self.peek(), Some(Tok::Punct(b'+' | b'-'))) {
                    return Ok(Operand::Offset(name, self.offset()?));
                }
                Ok(Operand::Name(name))
            }
            Some(Tok::Int(_) | Tok::Punct(b'-' | b'~')) => Ok(Operand::Int(self.expression(0)?)),
            _ => self.unexpected("an operand"),
        }
    }

    /// A float literal, if one stands here.
    pub(super) fn float(&mut self) -> Option<Operand<'a>> {
        let negative = self.peek() == Some(&Tok::Punct(b'-'));
        let value = match self.tokens.get(self.pos + usize::from(negative))?.tok {
            Tok::F32(bits) => Operand::F32(bits ^ u32::from(negative) << 31),
            Tok::F64(bits) => Operand::F64(bits ^ u64::from(negative) << 63),
            _ => return None,
        };
        self.pos += 1 + usize::from(negative);
        Some(value)
    }

    /// The term behind a name: nothing, or a sum that starts with its sign.
    pub(super) fn offset(&mut self) -> Result<i64> {
        let mut sum = 0_i64;
        loop {
            let negative = self.peek() == Some(&Tok::Punct(b'-'));
            if !negative && !self.accept(b'+') {
                return Ok(sum);
            }
            self.pos += usize::from(negative);
            let term = self.expression(PRODUCT)? as i64;
            sum = sum.wrapping_add(if negative { term.wrapping_neg() } else { term });
        }
    }

    /// The operator that stands here, its rank and the number of its characters.
    fn operator(&self) -> Option<(u8, u32, usize)> {
        let at = |n: usize| match self.tokens.get(self.pos + n) {
            Some(Token { tok: Tok::Punct(c), .. }) => *c,
            _ => 0,
        };
        Some(match at(0) {
            b'|' => (b'|', 1, 1),
            b'^' => (b'^', 2, 1),
            b'&' => (b'&', 3, 1),
            c @ (b'<' | b'>') if at(1) == c => (c, 4, 2),
            c @ (b'+' | b'-') => (c, 5, 1),
            c @ (b'*' | b'/' | b'%') => (c, PRODUCT, 1),
            _ => return None,
        })
    }

    /// A constant expression of operators of at least this rank.
    pub(super) fn expression(&mut self, least: u32) -> Result<u64> {
        let mut value = self.constant()?;
        while let Some((operator, rank, length)) = self.operator().filter(|(_, r, _)| *r >= least) {
            self.pos += length;
            let right = self.nested(|p| p.expression(rank + 1))?;
            value = match operator {
                b'|' => value | right,
                b'^' => value ^ right,
                b'&' => value & right,
                b'<' => value.checked_shl(right as u32).unwrap_or(0),
                b'>' => value.checked_shr(right as u32).unwrap_or(0),
                b'+' => value.wrapping_add(right),
                b'-' => value.wrapping_sub(right),
                b'*' => value.wrapping_mul(right),
                _ if right == 0 => return self.error("a constant is divided by zero"),
                b'/' => (value as i64).wrapping_div(right as i64) as u64,
                _ => (value as i64).wrapping_rem(right as i64) as u64,
            };
        }
        Ok(value)
    }

    fn constant(&mut self) -> Result<u64> {
        if self.accept(b'-') {
            return Ok(self.nested(Self::constant)?.wrapping_neg());
        }
        if self.accept(b'~') {
            return Ok(!self.nested(Self::constant)?);
        }
        if self.accept(b'(') {
            let value = self.nested(|p| p.expression(0))?;
            self.expect(b')')?;
            return Ok(value);
        }
        self.integer()
    }

    fn operands_until(&mut self, end: u8) -> Result<Vec<Operand<'a>>> {
        let mut list = Vec::new();
        while !self.accept(end) {
            list.push(self.operand()?);
            if !self.accept(b',') {
                self.expect(end)?;
                break;
            }
        }
        Ok(list)
    }

    fn address(&mut self) -> Result<Operand<'a>> {
        let base = match self.peek() {
            Some(&Tok::Word(name)) => {
                self.pos += 1;
                Some(name)
            }
            _ => None,
        };
        let offset = if base.is_some() { self.offset()? } else { self.expression(0)? as i64 };
        let mut parts = vec![Operand::Address(base, offset)];
        while self.accept(b',') {
            // Tensor coordinates and the like: the instruction is refused later.
            parts.push(self.operand()?);
        }
        self.expect(b']')?;
        Ok(if parts.len() == 1 { parts.remove(0) } else { Operand::List(parts) })
    }
}
