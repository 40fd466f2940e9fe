//! Blocks of operands that lie across: copied along their rows, read along their columns.
//!
//! The threads of a task copy pieces of 16 bytes, side by side along the rows, to memory that they share; each reads pieces
//! of the rows that are its lanes, and has a square of elements in registers for as many columns as a piece has elements.
//! Piece `p` of a thread's rows lies at `p ^ t % 8`, so that neither 8 threads that write pieces side by side, nor 8 that
//! read the same piece of rows of their own, meet in a bank.
//!
//! Where rows do not begin at multiples of 16 bytes, or a block is not all of memory, elements are copied one by one, by
//! neighbours. Where a task is a thread, or a block has an odd form, columns are read where they lie.

use super::memory::{element, stored};
use super::operations::SHARED;
use super::spread::SLOTS;
use super::{Form, Function, Share, base, constant, ty};
use svod_dtype::{Const, DType};
use svod_ir::linear::{Block, BlockId, Place, Ty, Val};

/// Bytes of a piece, which is what a thread accesses at once.
const PIECE: u32 = 16;
/// Pieces that lie in all banks of shared memory.
const BANKS: u32 = 8;
/// Pieces that a thread has on their way at one time, and single elements.
const BATCH: u32 = 16;
const ELEMENTS: u32 = 8;

/// Where a block comes from.
#[derive(Clone, Copy)]
struct Source {
    from: Place,
    at: Val,
    step: Val,
    within: Option<[Val; 2]>,
}

/// The blocks of a list.
#[derive(Default)]
pub(super) struct Blocks {
    sources: Vec<(BlockId, Source)>,
    /// Pieces that a thread has in registers: of which block, and which of its own.
    pieces: Vec<((BlockId, u32), String)>,
    /// For each block, where the pieces of each residue lie.
    places: Vec<(BlockId, Vec<String>)>,
    /// Whether threads have written what no other may read yet.
    unsettled: bool,
}

/// How the threads of a task share a block.
struct Shape {
    /// Elements of a piece.
    elements: u32,
    /// Pieces of a row.
    row: u32,
    /// Rows of a thread.
    own: u32,
}

impl Function<'_> {
    /// How a block is shared; `None` where it is not.
    fn shape(&self, block: Block) -> Option<Shape> {
        let threads = self.share.threads;
        let bytes = block.dtype.bytes() as u32;
        let (elements, own) = (PIECE / bytes.max(1), block.rows / threads);
        let row = block.columns / elements.max(1);
        let powers = [block.rows, block.columns, elements].iter().all(|n| n.is_power_of_two());
        let even = powers && own > 0 && row > 0 && row <= threads && own * row >= BANKS;
        (self.share != Share::ALONE && even).then_some(Shape { elements, row, own })
    }

    /// The pointer to a byte of a block, of this task's.
    fn block_pointer(&mut self, block: BlockId, at: &str) -> String {
        let bytes = |blocks: &[Block]| blocks.iter().map(Block::bytes).sum::<u32>();
        let (before, all) = (bytes(&self.linear.blocks[..block.index()]), bytes(&self.linear.blocks));
        self.shared = self.shared.max(SLOTS + all * self.share.tasks());
        let task = self.temporary(format_args!("mul i32 %place, {all}"));
        let at = self.temporary(format_args!("add i32 {task}, {at}"));
        let at = self.temporary(format_args!("add i32 {at}, {}", SLOTS + before));
        match self.form {
            Form::Simulated => {
                let base = self.temporary(format_args!("call ptr @svod_sim_shared()"));
                self.temporary(format_args!("getelementptr i8, ptr {base}, i32 {at}"))
            }
            _ => self.temporary(format_args!("getelementptr i8, ptr addrspace(3) {SHARED}, i32 {at}")),
        }
    }

    /// Copies a block. Threads wait until none reads what was in its place.
    pub(super) fn copy_block(&mut self, to: BlockId, from: Place, at: Val, step: Val, within: Option<[Val; 2]>) {
        let source = Source { from, at, step, within };
        self.across.sources.retain(|(id, _)| *id != to);
        self.across.sources.push((to, source));
        let block = self.linear.blocks[to.index()];
        let Some(form) = self.shape(block) else { return };
        if !self.across.unsettled {
            self.wait();
        }
        self.across.unsettled = true;
        self.across.pieces.clear();
        let multiple = |v: Val| self.hazards.multiples[v.index()].saturating_mul(block.dtype.bytes() as u64);
        let aligned = multiple(at).min(multiple(step)) >= u64::from(PIECE) && self.align >= PIECE as usize;
        match (aligned, within) {
            (true, None) => self.copy_pieces(to, &source, &form),
            (true, Some([rows, columns])) => {
                let [rows, columns] = [(rows, block.rows), (columns, block.columns)].map(|(there, all)| {
                    let there = self.operand(there);
                    self.temporary(format_args!("icmp sge i64 {there}, {all}"))
                });
                let all = self.temporary(format_args!("and i1 {rows}, {columns}"));
                let [fast, slow, done] = [self.label(), self.label(), self.label()];
                self.line(format_args!("br i1 {all}, label %{fast}, label %{slow}"));
                self.start_block(fast);
                self.copy_pieces(to, &source, &form);
                self.line(format_args!("br label %{done}"));
                self.start_block(slow);
                self.copy_elements(to, &source, &form);
                self.line(format_args!("br label %{done}"));
                self.start_block(done);
            }
            (false, _) => self.copy_elements(to, &source, &form),
        }
    }

    /// Copies whole pieces.
    fn copy_pieces(&mut self, to: BlockId, source: &Source, form: &Shape) {
        let block = self.linear.blocks[to.index()];
        let of = stored(Ty { dtype: block.dtype, lanes: form.elements });
        let (threads, scope) = (self.share.threads, self.scope(source.from));
        let (element, whole) = (element(block.dtype), ty(of));
        let [at, step] = [source.at, source.step].map(|v| self.operand(v));
        // A thread's first piece, and how far the next ones are from it.
        let row = self.temporary(format_args!("lshr i32 %lane, {}", form.row.ilog2()));
        let piece = self.temporary(format_args!("and i32 %lane, {}", form.row - 1));
        let column = self.temporary(format_args!("mul i32 {piece}, {}", form.elements));
        let [row, column] = [row, column].map(|n| self.temporary(format_args!("zext i32 {n} to i64")));
        let rows = self.temporary(format_args!("mul i64 {row}, {step}"));
        let first = self.temporary(format_args!("add i64 {at}, {rows}"));
        let first = self.temporary(format_args!("add i64 {first}, {column}"));
        let mut pointer =
            self.temporary(format_args!("getelementptr {element}, ptr {}, i64 {first}", base(source.from)));
        let further = self.temporary(format_args!("mul i64 {step}, {}", threads / form.row));
        let pieces = block.rows * form.row / threads;
        for first in (0..pieces).step_by(BATCH as usize) {
            let batch = first..pieces.min(first + BATCH);
            let mut loaded = Vec::new();
            for n in batch.clone() {
                if n > 0 {
                    pointer = self.temporary(format_args!("getelementptr {element}, ptr {pointer}, i64 {further}"));
                }
                loaded.push(self.temporary(format_args!("load {whole}, ptr {pointer}, align {PIECE}{scope}")));
            }
            for (n, value) in batch.zip(loaded) {
                let number = self.temporary(format_args!("add i32 %lane, {}", n * threads));
                let place = self.place_of_piece(&number, form);
                let place = self.temporary(format_args!("shl i32 {place}, {}", PIECE.ilog2()));
                let (place, pointer) = (self.block_pointer(to, &place), self.shared_pointer());
                self.line(format_args!("store {whole} {value}, {pointer} {place}, align {PIECE}"));
            }
        }
    }

    /// Where the piece of a number lies, counted along the rows.
    fn place_of_piece(&mut self, number: &str, form: &Shape) -> String {
        let owner = self.temporary(format_args!("lshr i32 {number}, {}", (form.row * form.own).ilog2()));
        let turn = self.temporary(format_args!("and i32 {owner}, {}", BANKS - 1));
        self.temporary(format_args!("xor i32 {number}, {turn}"))
    }

    /// Copies elements one by one, those that there are.
    fn copy_elements(&mut self, to: BlockId, source: &Source, form: &Shape) {
        let block = self.linear.blocks[to.index()];
        let (threads, scope) = (self.share.threads, self.scope(source.from));
        let (element, bytes) = (element(block.dtype), block.dtype.bytes() as u32);
        let [at, step] = [source.at, source.step].map(|v| self.operand(v));
        let within = source.within.map(|of| of.map(|v| self.operand(v)));
        // Without rows or columns there is no element that others could be loaded in place of.
        let some = within.as_ref().map(|[rows, columns]| {
            let [rows, columns] = [rows, columns].map(|n| self.temporary(format_args!("icmp sgt i64 {n}, 0")));
            self.temporary(format_args!("and i1 {rows}, {columns}"))
        });
        let end = self.guard(some.as_deref());
        let last = within.as_ref().map(|of| of.each_ref().map(|n| self.temporary(format_args!("sub i64 {n}, 1"))));
        let each = block.rows * block.columns / threads;
        let batch = ELEMENTS.min(each);
        let (before, head, done) = (self.block.clone(), self.label(), self.label());
        self.line(format_args!("br label %{head}"));
        self.start_block(head.clone());
        let counter = format!("%c{head}");
        self.line(format_args!("{counter} = phi i32 [ 0, %{before} ], [ {counter}.next, %{head} ]"));
        let start = self.temporary(format_args!("mul i32 {counter}, {}", batch * threads));
        let mut loaded = Vec::new();
        for n in 0..batch {
            let number = self.temporary(format_args!("add i32 {start}, {}", n * threads));
            let number = self.temporary(format_args!("add i32 {number}, %lane"));
            let row = self.temporary(format_args!("lshr i32 {number}, {}", block.columns.ilog2()));
            let column = self.temporary(format_args!("and i32 {number}, {}", block.columns - 1));
            let [row, column] = [row, column].map(|n| self.temporary(format_args!("zext i32 {n} to i64")));
            // Rows and columns beyond the last ones are those.
            let [row, column] = match &last {
                Some([last_row, last_column]) => [(row, last_row), (column, last_column)].map(|(n, last)| {
                    let beyond = self.temporary(format_args!("icmp sgt i64 {n}, {last}"));
                    self.temporary(format_args!("select i1 {beyond}, i64 {last}, i64 {n}"))
                }),
                None => [row, column],
            };
            let rows = self.temporary(format_args!("mul i64 {row}, {step}"));
            let offset = self.temporary(format_args!("add i64 {rows}, {column}"));
            let position = self.temporary(format_args!("add i64 {at}, {offset}"));
            let pointer =
                self.temporary(format_args!("getelementptr {element}, ptr {}, i64 {position}", base(source.from)));
            let value = self.temporary(format_args!("load {element}, ptr {pointer}, align {bytes}{scope}"));
            loaded.push((number, value));
        }
        for (number, value) in loaded {
            let piece = self.temporary(format_args!("lshr i32 {number}, {}", form.elements.ilog2()));
            let place = self.place_of_piece(&piece, form);
            let place = self.temporary(format_args!("mul i32 {place}, {}", form.elements));
            let inside = self.temporary(format_args!("and i32 {number}, {}", form.elements - 1));
            let place = self.temporary(format_args!("or i32 {place}, {inside}"));
            let place = self.temporary(format_args!("mul i32 {place}, {bytes}"));
            let (place, pointer) = (self.block_pointer(to, &place), self.shared_pointer());
            self.line(format_args!("store {element} {value}, {pointer} {place}, align {bytes}"));
        }
        self.line(format_args!("{counter}.next = add i32 {counter}, 1"));
        let more = self.temporary(format_args!("icmp ult i32 {counter}.next, {}", each / batch));
        self.line(format_args!("br i1 {more}, label %{head}, label %{done}"));
        self.start_block(done);
        self.close(end);
    }

    /// A column of a block: an element of each of a thread's rows.
    pub(super) fn column(&mut self, v: Val, block: BlockId, n: u32) -> String {
        let (id, of) = (block, self.linear.ty(v));
        let block = self.linear.blocks[id.index()];
        let value = match self.shape(block) {
            Some(form) => self.shared_column(id, stored(of), n, &form),
            None => self.column_in_memory(id, stored(of), n),
        };
        match of.dtype {
            DType::Bool => self.temporary(format_args!("icmp ne {} {value}, zeroinitializer", ty(stored(of)))),
            _ => value,
        }
    }

    fn shared_column(&mut self, id: BlockId, of: Ty, n: u32, form: &Shape) -> String {
        if std::mem::take(&mut self.across.unsettled) {
            self.wait();
        }
        let piece_type = ty(Ty { lanes: form.elements, ..of });
        let mut lanes = Vec::new();
        for row in 0..of.lanes {
            let number = row * form.row + n / form.elements;
            let piece = self.piece(id, number, form);
            let at = n % form.elements;
            lanes.push(match form.elements {
                1 => piece,
                _ => self.temporary(format_args!("extractelement {piece_type} {piece}, i64 {at}")),
            });
        }
        self.gathered(of, lanes)
    }

    /// One of a thread's own pieces of a block.
    fn piece(&mut self, id: BlockId, number: u32, form: &Shape) -> String {
        if let Some((_, value)) = self.across.pieces.iter().find(|(of, _)| *of == (id, number)) {
            return value.clone();
        }
        let places = match self.across.places.iter().find(|(of, _)| *of == id) {
            Some((_, places)) => places.clone(),
            None => {
                let places = self.places_of_pieces(id, form);
                self.across.places.push((id, places.clone()));
                places
            }
        };
        let block = self.linear.blocks[id.index()];
        let whole = ty(stored(Ty { dtype: block.dtype, lanes: form.elements }));
        let (residue, rest) = (number % BANKS, number - number % BANKS);
        let pointer = self.shared_pointer();
        let at = self.temporary(format_args!(
            "getelementptr i8, {pointer} {}, i32 {}",
            places[residue as usize],
            rest * PIECE
        ));
        let value = self.temporary(format_args!("load {whole}, {pointer} {at}, align {PIECE}"));
        self.across.pieces.push(((id, number), value.clone()));
        value
    }

    /// Where a thread's first eight pieces lie.
    fn places_of_pieces(&mut self, id: BlockId, form: &Shape) -> Vec<String> {
        let turn = self.temporary(format_args!("and i32 %lane, {}", BANKS - 1));
        let first = self.temporary(format_args!("mul i32 %lane, {}", form.own * form.row));
        let place = |residue: u32| {
            let turned = self.temporary(format_args!("xor i32 {turn}, {residue}"));
            let piece = self.temporary(format_args!("add i32 {first}, {turned}"));
            let at = self.temporary(format_args!("shl i32 {piece}, {}", PIECE.ilog2()));
            self.block_pointer(id, &at)
        };
        (0..BANKS).map(place).collect()
    }

    /// A column, element by element from where it lies.
    fn column_in_memory(&mut self, id: BlockId, of: Ty, n: u32) -> String {
        let Some((_, source)) = self.across.sources.iter().find(|(of, _)| *of == id).copied() else {
            return constant(of, Const::zero(of.dtype));
        };
        let whole = self.linear.blocks[id.index()].rows;
        let (one, scope) = (Ty { lanes: 1, ..of }, self.scope(source.from));
        let (element, bytes) = (ty(one), of.dtype.bytes());
        let [at, step] = [source.at, source.step].map(|v| self.operand(v));
        let within = source.within.map(|of| of.map(|v| self.operand(v)));
        let first = match self.is_spread(whole) {
            true => self.first_lane(whole, "i64"),
            false => "0".to_owned(),
        };
        let mut lanes = Vec::new();
        for lane in 0..of.lanes {
            let row = self.temporary(format_args!("add i64 {first}, {lane}"));
            let mask = within.as_ref().map(|[rows, columns]| {
                let in_rows = self.temporary(format_args!("icmp slt i64 {row}, {rows}"));
                let some = self.temporary(format_args!("icmp sgt i64 {columns}, 0"));
                self.temporary(format_args!("and i1 {in_rows}, {some}"))
            });
            let column = match &within {
                Some([_, columns]) => {
                    let last = self.temporary(format_args!("sub i64 {columns}, 1"));
                    let beyond = self.temporary(format_args!("icmp sgt i64 {n}, {last}"));
                    self.temporary(format_args!("select i1 {beyond}, i64 {last}, i64 {n}"))
                }
                None => n.to_string(),
            };
            let other = constant(one, Const::zero(of.dtype));
            lanes.push(self.guarded(mask.as_deref(), one, other, |f| {
                let rows = f.temporary(format_args!("mul i64 {row}, {step}"));
                let position = f.temporary(format_args!("add i64 {at}, {rows}"));
                let position = f.temporary(format_args!("add i64 {position}, {column}"));
                let pointer =
                    f.temporary(format_args!("getelementptr {element}, ptr {}, i64 {position}", base(source.from)));
                f.temporary(format_args!("load {element}, ptr {pointer}, align {bytes}{scope}"))
            }));
        }
        self.gathered(of, lanes)
    }

    /// A vector of these lanes.
    fn gathered(&mut self, of: Ty, mut lanes: Vec<String>) -> String {
        if of.lanes == 1 {
            return lanes.swap_remove(0);
        }
        let (whole, element) = (ty(of), ty(Ty { lanes: 1, ..of }));
        let insert = |vector: String, (lane, value): (usize, &String)| {
            self.temporary(format_args!("insertelement {whole} {vector}, {element} {value}, i64 {lane}"))
        };
        lanes.iter().enumerate().fold("poison".to_owned(), insert)
    }

    /// Before a loop or conditional begins or ends: what is in registers is of one scope, and all threads see what has been
    /// copied.
    pub(super) fn leave_blocks(&mut self) {
        self.across.pieces.clear();
        self.across.places.clear();
        if std::mem::take(&mut self.across.unsettled) {
            self.wait();
        }
    }
}
