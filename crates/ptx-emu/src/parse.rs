//! Builds the syntax tree from tokens.
//!
//! Knows the shape of statements and nothing of instructions: an unknown opcode parses like any
//! other. Debug sections are skipped.

mod operand;

use crate::{
    ParseError,
    ast::{
        ClusterRules, Function, Init, Instruction, Operand, Position, Ptx, Registers, Space,
        Statement, Variable,
    },
    lex::{Tok, Token, lex},
};

type Result<T> = std::result::Result<T, ParseError>;

/// The syntax tree of `text`.
pub(crate) fn parse(text: &str) -> Result<Ptx<'_>> {
    let tokens = lex(text)?;
    let mut parser = Parser { text, tokens, pos: 0, depth: 0 };
    let mut ptx = Ptx::default();
    while parser.pos < parser.tokens.len() {
        parser.module_item(&mut ptx)?;
    }
    Ok(ptx)
}

/// Bytes of a value of the type named `name` (without its dot).
pub(crate) fn type_bytes(name: &str) -> Option<u32> {
    Some(match name {
        "b8" | "u8" | "s8" | "e4m3" | "e5m2" => 1,
        "b16" | "u16" | "s16" | "f16" | "bf16" | "e4m3x2" | "e5m2x2" => 2,
        "b32" | "u32" | "s32" | "f32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => 4,
        "b64" | "u64" | "s64" | "f64" => 8,
        "b128" => 16,
        _ => return None,
    })
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    pos: usize,
    /// Braces, brackets and parentheses that stand open in the operand or initial value under way.
    depth: u32,
}

/// Most blocks of a body, operands or initial values inside each other.
const MAX_NESTING: u32 = 200;

/// Largest alignment of a variable, in bytes.
const MAX_ALIGN: u32 = 1 << 16;

/// The start of a text that is quoted in a message.
fn shortened(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Tok<'a>> {
        self.tokens.get(self.pos).map(|t| &t.tok)
    }

    fn line(&self) -> u32 {
        self.tokens.get(self.pos).or(self.tokens.last()).map_or(1, |t| t.line)
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        let offset = self.tokens.get(self.pos).map_or(self.text.len(), |t| t.start);
        Err(ParseError::at(self.text, offset, message))
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T> {
        if let Some(Tok::Wrong(message)) = self.peek() {
            return self.error(message.as_ref());
        }
        let found = self.tokens.get(self.pos).map_or("the end", |t| &self.text[t.start..t.end]);
        self.error(format!("expected {wanted}, found `{}`", shortened(found)))
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_NESTING {
            return self.error(format!("more than {MAX_NESTING} levels inside each other"));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn accept(&mut self, c: u8) -> bool {
        let hit = self.peek() == Some(&Tok::Punct(c));
        self.pos += usize::from(hit);
        hit
    }

    fn expect(&mut self, c: u8) -> Result<()> {
        if self.accept(c) { Ok(()) } else { self.unexpected(&format!("`{}`", c as char)) }
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let hit = self.peek() == Some(&Tok::Word(word));
        self.pos += usize::from(hit);
        hit
    }

    fn word(&mut self) -> Result<&'a str> {
        match self.peek() {
            Some(&Tok::Word(w)) => {
                self.pos += 1;
                Ok(w)
            }
            _ => self.unexpected("a name"),
        }
    }

    fn integer(&mut self) -> Result<u64> {
        let negative = self.accept(b'-');
        match self.peek() {
            Some(&Tok::Int(v)) => {
                self.pos += 1;
                Ok(if negative { v.wrapping_neg() } else { v })
            }
            _ => self.unexpected("an integer"),
        }
    }

    fn small(&mut self) -> Result<u32> {
        let value = self.integer()?;
        match u32::try_from(value) {
            Ok(v) => Ok(v),
            Err(_) => self.error(format!("number {value} is too large here")),
        }
    }

    fn skip_past(&mut self, c: u8) -> Result<()> {
        while let Some(tok) = self.peek() {
            let hit = *tok == Tok::Punct(c);
            self.pos += 1;
            if hit {
                return Ok(());
            }
        }
        self.unexpected(&format!("`{}`", c as char))
    }

    fn module_item(&mut self, ptx: &mut Ptx<'a>) -> Result<()> {
        let Some(&Tok::Word(word)) = self.peek() else {
            if self.accept(b';') {
                return Ok(());
            }
            return self.unexpected("a directive");
        };
        match word {
            ".version" => self.pos += 2,
            ".address_size" => {
                let start = self.tokens[self.pos].start;
                self.pos += 1;
                ptx.address_size = Some((self.integer()?, start));
            }
            ".target" => {
                self.pos += 2;
                while self.accept(b',') {
                    self.pos += 1;
                }
            }
            ".file" => ptx.files.push(self.file()?),
            ".section" => {
                while !matches!(self.peek(), None | Some(Tok::Punct(b'{'))) {
                    self.pos += 1;
                }
                self.skip_braces()?;
            }
            ".pragma" | ".alias" => self.skip_past(b';')?,
            ".loc" => {
                _ = self.loc()?;
            }
            ".extern" | ".visible" | ".weak" | ".common" | ".entry" | ".func" | ".global"
            | ".const" | ".shared" => self.linked(ptx)?,
            _ => return self.unexpected("a module-level directive"),
        }
        Ok(())
    }

    fn file(&mut self) -> Result<(u32, &'a str)> {
        self.pos += 1;
        let index = self.small()?;
        let Some(&Tok::Str(name)) = self.peek() else { return self.unexpected("a file name") };
        self.pos += 1;
        while self.accept(b',') {
            self.integer()?;
        }
        Ok((index, name))
    }

    fn skip_braces(&mut self) -> Result<()> {
        self.expect(b'{')?;
        let mut depth = 1;
        while depth > 0 {
            if self.peek().is_none() {
                return self.unexpected("`}`");
            }
            if self.accept(b'{') {
                depth += 1;
            } else if self.accept(b'}') {
                depth -= 1;
            } else {
                self.pos += 1;
            }
        }
        Ok(())
    }

    fn linked(&mut self, ptx: &mut Ptx<'a>) -> Result<()> {
        let mut is_extern = false;
        loop {
            match self.peek() {
                Some(&Tok::Word(".extern")) => is_extern = true,
                Some(&Tok::Word(".visible" | ".weak" | ".common")) => {}
                _ => break,
            }
            self.pos += 1;
        }
        if self.accept_word(".entry") {
            ptx.functions.push(self.function(true)?);
        } else if self.accept_word(".func") {
            ptx.functions.push(self.function(false)?);
        } else {
            ptx.variables.append(&mut self.variables(is_extern)?);
        }
        Ok(())
    }

    fn function(&mut self, is_entry: bool) -> Result<Function<'a>> {
        while self.accept_word(".noreturn") {}
        let returns = if self.accept(b'(') { self.parameters()? } else { Vec::new() };
        let name = self.word()?;
        let params = if self.accept(b'(') { self.parameters()? } else { Vec::new() };
        let mut cluster = ClusterRules::default();
        loop {
            match self.peek() {
                Some(Tok::Punct(b'{')) => {
                    self.pos += 1;
                    let body = Some(self.body()?);
                    return Ok(Function { name, is_entry, returns, params, cluster, body });
                }
                Some(Tok::Punct(b';')) => {
                    self.pos += 1;
                    let body = None;
                    return Ok(Function { name, is_entry, returns, params, cluster, body });
                }
                Some(Tok::Word(".reqnctapercluster")) => {
                    self.pos += 1;
                    cluster.required = Some(self.extents()?);
                }
                Some(Tok::Word(".maxclusterrank")) => {
                    self.pos += 1;
                    cluster.max_rank = Some(self.small()?);
                }
                Some(Tok::Word(".explicitcluster")) => {
                    self.pos += 1;
                    cluster.explicit = true;
                }
                Some(Tok::Word(_) | Tok::Punct(b',') | Tok::Int(_) | Tok::Str(_)) => self.pos += 1,
                _ => return self.unexpected("a function body"),
            }
        }
    }

    /// Up to three numbers; those not given are 1.
    fn extents(&mut self) -> Result<[u32; 3]> {
        let mut extents = [self.small()?, 1, 1];
        for extent in &mut extents[1..] {
            if !self.accept(b',') {
                break;
            }
            *extent = self.small()?;
        }
        Ok(extents)
    }

    fn parameters(&mut self) -> Result<Vec<Variable<'a>>> {
        let mut list = Vec::new();
        while !self.accept(b')') {
            let space = match self.peek() {
                Some(Tok::Word(".param")) => Space::Param,
                Some(Tok::Word(".reg")) => Space::Register,
                _ => return self.unexpected("a parameter"),
            };
            self.pos += 1;
            list.push(self.declarator_with_type(space, false)?);
            _ = self.accept(b',');
        }
        Ok(list)
    }

    fn variables(&mut self, is_extern: bool) -> Result<Vec<Variable<'a>>> {
        let space = match self.word()? {
            ".global" => Space::Global,
            ".const" => Space::Const,
            ".shared" => Space::Shared,
            ".local" => Space::Local,
            ".param" => Space::Param,
            other => return self.error(format!("unknown state space `{other}`")),
        };
        let mut list = vec![self.declarator_with_type(space, is_extern)?];
        while self.accept(b',') {
            let Variable { align, element_bytes, lanes, .. } = list[0];
            list.push(self.declarator(space, is_extern, align, (element_bytes, lanes))?);
        }
        self.expect(b';')?;
        Ok(list)
    }

    fn declarator_with_type(&mut self, space: Space, is_extern: bool) -> Result<Variable<'a>> {
        let mut align = 0;
        let mut lanes = 1;
        loop {
            let word = self.word()?;
            match word {
                ".align" => align = self.alignment()?,
                ".ptr" => {}
                ".v2" => lanes = 2,
                ".v4" => lanes = 4,
                ".global" | ".const" | ".shared" | ".local" | ".attribute" => {
                    if self.accept(b'(') {
                        self.skip_past(b')')?;
                    }
                }
                ".pred" if space == Space::Register => {
                    let variable = self.declarator(space, is_extern, 4, (0, 1))?;
                    return Ok(Variable { bytes: 4, ..variable });
                }
                _ => {
                    let Some(bytes) = word.strip_prefix('.').and_then(type_bytes) else {
                        return self.error(format!("unknown type `{word}`"));
                    };
                    // A pointer attribute may follow the type: `.u64 .ptr .global .align 4 name`.
                    let mut natural = align.max(bytes * lanes);
                    if self.accept_word(".ptr") {
                        while matches!(
                            self.peek(),
                            Some(Tok::Word(".global" | ".const" | ".shared" | ".local"))
                        ) {
                            self.pos += 1;
                        }
                        if self.accept_word(".align") {
                            _ = self.small()?;
                        }
                    }
                    if align != 0 {
                        natural = align;
                    }
                    return self.declarator(space, is_extern, natural, (bytes * lanes, lanes));
                }
            }
        }
    }

    fn alignment(&mut self) -> Result<u32> {
        let at = self.pos;
        let align = self.small()?;
        if align.is_power_of_two() && align <= MAX_ALIGN {
            return Ok(align);
        }
        self.pos = at;
        self.error(format!("alignment {align} is no power of two up to {MAX_ALIGN}"))
    }

    fn declarator(
        &mut self,
        space: Space,
        is_extern: bool,
        align: u32,
        (element_bytes, lanes): (u32, u32),
    ) -> Result<Variable<'a>> {
        let name = self.word()?;
        let mut count: usize = 1;
        while self.accept(b'[') {
            let n = if self.peek() == Some(&Tok::Punct(b']')) { 0 } else { self.integer()? };
            self.expect(b']')?;
            count = count.saturating_mul(usize::try_from(n).unwrap_or(usize::MAX));
        }
        if count > 1 << 40 {
            return self.error(format!("variable `{name}` is too large"));
        }
        let mut init = Vec::new();
        if self.accept(b'=') {
            self.initialiser(&mut init)?;
            if count == 0 {
                count = init.len().div_ceil(lanes as usize);
            }
        }
        let bytes = count.saturating_mul(element_bytes as usize);
        let align = align.max(1);
        Ok(Variable { space, name, align, element_bytes, lanes, bytes, is_extern, init })
    }

    fn initialiser(&mut self, into: &mut Vec<Init<'a>>) -> Result<()> {
        if self.accept(b'{') {
            while !self.accept(b'}') {
                self.nested(|p| p.initialiser(into))?;
                _ = self.accept(b',');
            }
            return Ok(());
        }
        if let Some(value) = self.float() {
            into.push(match value {
                Operand::F32(bits) => Init::F32(bits),
                Operand::F64(bits) => Init::F64(bits),
                _ => return self.unexpected("a number"),
            });
            return Ok(());
        }
        let value = match self.peek() {
            Some(&Tok::Word(name)) => {
                self.pos += 1;
                let mut symbol = name;
                if self.accept(b'(') {
                    symbol = self.word()?;
                    self.expect(b')')?;
                }
                Init::Symbol(symbol, self.offset()?)
            }
            _ => Init::Int(self.expression(0)?),
        };
        into.push(value);
        Ok(())
    }

    fn body(&mut self) -> Result<Vec<Statement<'a>>> {
        let mut list = Vec::new();
        let mut depth = 0;
        loop {
            if self.accept(b'{') {
                depth += 1;
                if depth > MAX_NESTING {
                    return self.error(format!("more than {MAX_NESTING} blocks inside each other"));
                }
                list.push(Statement::Open);
            } else if self.accept(b'}') {
                if depth == 0 {
                    return Ok(list);
                }
                depth -= 1;
                list.push(Statement::Close);
            } else if !self.accept(b';') {
                self.statement(&mut list)?;
            }
        }
    }

    fn statement(&mut self, list: &mut Vec<Statement<'a>>) -> Result<()> {
        let word = match self.peek() {
            Some(&Tok::Word(w)) => w,
            Some(Tok::Punct(b'@')) => "@",
            _ => return self.unexpected("a statement"),
        };
        match word {
            ".reg" => {
                self.pos += 1;
                self.registers(list)
            }
            ".local" | ".shared" | ".param" | ".global" | ".const" => {
                list.extend(self.variables(false)?.into_iter().map(Statement::Variable));
                Ok(())
            }
            ".extern" => {
                self.pos += 1;
                list.extend(self.variables(true)?.into_iter().map(Statement::Variable));
                Ok(())
            }
            ".loc" => {
                let (at, inlined) = self.loc()?;
                list.push(Statement::Loc(at, inlined));
                Ok(())
            }
            ".pragma" => self.skip_past(b';'),
            _ if word.starts_with('.') => self.unexpected("a statement"),
            _ => {
                if matches!(self.tokens.get(self.pos + 1), Some(t) if t.tok == Tok::Punct(b':')) {
                    self.pos += 2;
                    return self.label(word, list);
                }
                let at = self.pos;
                let instruction = match self.instruction() {
                    Ok(instruction) => instruction,
                    Err(error) => self.unreadable(at, error)?,
                };
                list.push(Statement::Instruction(instruction));
                Ok(())
            }
        }
    }

    fn label(&mut self, name: &'a str, list: &mut Vec<Statement<'a>>) -> Result<()> {
        match self.peek() {
            Some(Tok::Word(".callprototype")) => self.skip_past(b';'),
            Some(Tok::Word(".branchtargets")) => {
                self.pos += 1;
                let mut targets = vec![self.word()?];
                while self.accept(b',') {
                    targets.push(self.word()?);
                }
                list.push(Statement::BranchTargets(name, targets));
                self.expect(b';')
            }
            _ => {
                list.push(Statement::Label(name));
                Ok(())
            }
        }
    }

    fn registers(&mut self, list: &mut Vec<Statement<'a>>) -> Result<()> {
        let mut ty = self.word()?;
        let lanes = match ty {
            ".v2" => 2,
            ".v4" => 4,
            _ => 1,
        };
        if lanes > 1 {
            ty = self.word()?;
        }
        let ty = ty.strip_prefix('.').unwrap_or(ty);
        loop {
            let name = self.word()?;
            let mut count = None;
            if self.accept(b'<') {
                count = Some(self.small()?);
                self.expect(b'>')?;
            }
            list.push(Statement::Reg(Registers { ty, name, count, lanes }));
            if !self.accept(b',') {
                return self.expect(b';');
            }
        }
    }

    fn loc(&mut self) -> Result<(Position, Option<Position>)> {
        self.pos += 1;
        let at = (self.small()?, self.small()?, self.small()?);
        let mut inlined = None;
        while self.accept(b',') {
            match self.word()? {
                "function_name" => {
                    self.word()?;
                    if self.accept(b'+') {
                        self.integer()?;
                    }
                }
                "inlined_at" => inlined = Some((self.small()?, self.small()?, self.small()?)),
                _ => return self.unexpected("`function_name` or `inlined_at`"),
            }
        }
        Ok((at, inlined))
    }

    fn instruction(&mut self) -> Result<Instruction<'a>> {
        let start = self.tokens[self.pos].start;
        let ptx_line = self.line();
        let mut guard = None;
        if self.accept(b'@') {
            let negated = self.accept(b'!');
            guard = Some((self.word()?, negated));
        }
        let opcode = self.word()?;
        let mut operands = Vec::new();
        if self.peek() != Some(&Tok::Punct(b';')) {
            operands.push(self.operand()?);
            while self.accept(b',') {
                operands.push(self.operand()?);
            }
        }
        let end = self.tokens.get(self.pos).map_or(self.text.len(), |t| t.start);
        self.expect(b';')?;
        let text = self.text[start..end].trim_end();
        Ok(Instruction { guard, opcode, operands, ptx_line, text, start, problem: None })
    }

    /// The instruction that starts at token `at` and cannot be read, if its end can be found.
    fn unreadable(&mut self, at: usize, error: ParseError) -> Result<Instruction<'a>> {
        let (start, ptx_line) = (self.tokens[at].start, self.tokens[at].line);
        let mut depth = 0_u32;
        for (n, token) in self.tokens.iter().enumerate().skip(at) {
            match token.tok {
                Tok::Punct(b'{') => depth += 1,
                Tok::Punct(b'}') if depth == 0 => break,
                Tok::Punct(b'}') => depth -= 1,
                Tok::Punct(b';') => {
                    self.pos = n + 1;
                    return Ok(Instruction {
                        guard: None,
                        opcode: "",
                        operands: Vec::new(),
                        ptx_line,
                        text: self.text[start..token.start].trim_end(),
                        start,
                        problem: Some(error),
                    });
                }
                _ => {}
            }
        }
        Err(error)
    }
}
