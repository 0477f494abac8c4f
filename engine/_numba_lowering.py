"""LLVM input for kernels that make no arrays, with far fewer instructions than numba's own.

Numba keeps most variables in memory, clears them where they are last used, and copies an array's description to memory
for every element that is read or written. LLVM removes all of that again. Writing the input, as text, and removing it
are most of the time that a kernel takes to compile. A kernel without reference counts needs none of it: values go
straight from where they are made to where they are used, and an element's address is computed from its array's
description. The machine code computes the same.

Only `engine._numba_passes` imports this module.
"""

import functools
import operator
from typing import Final

from numba.core import analysis, cgutils, ir, lowering, types

from engine._numba_code import Internal

__all__ = ["Lower"]

_DATA: Final = 4
_SHAPE: Final = 5
_STRIDES: Final = 6
"""Positions in numba's description of an array: parent and sizes come before them."""

_POWERS: Final = (operator.pow, operator.ipow)
_PLAIN: Final = (types.Integer, types.Float, types.Boolean)


class Lower(lowering.Lower):
    """Numba's lowering, for functions without reference counts."""

    def lower_function_body(self) -> Internal:
        """Lower all blocks, each after those that always run before it."""
        cfg = analysis.compute_cfg_from_blocks(self.blocks)
        order = [offset for offset in cfg.topo_order() if offset in self.blocks]
        self._singly_assigned_vars = _always_set(self.blocks, cfg.dominators(), order)
        for offset in order:
            self.blkmap[offset] = self.function.append_basic_block(f"B{offset}")
        self.pre_lower()
        entry_block_tail = self.builder.basic_block
        for offset in order:
            self.builder.position_at_end(self.blkmap[offset])
            for statement in self.blocks[offset].body:
                self.loc = statement.loc
                self.lower_inst(statement)
        self.post_lower()
        return entry_block_tail

    def _find_singly_assigned_variable(self) -> None:
        """Called as a function begins; `lower_function_body` finds them."""
        self._blk_local_varmap: dict[str, Internal] = {}

    def storevar(self, value: Internal, name: str, argidx: int | None = None) -> None:
        """Called for each assignment; there are no counts of references to the old value."""
        if name in self._singly_assigned_vars:
            self._blk_local_varmap[name] = value
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def delvar(self, name: str) -> None:
        """Called after a variable's last use; there is nothing to free."""

    def lower_inst(self, inst: Internal) -> None:
        """Called for each statement."""
        if isinstance(inst, ir.Assign):
            self.storevar(self.lower_assign(self.typeof(inst.target.name), inst), inst.target.name)
        elif isinstance(inst, ir.StaticSetItem) and self._is_array(inst.target):
            self.lower_setitem(inst.target, inst.index_var, inst.value, self.fndesc.calltypes[inst])
        else:
            super().lower_inst(inst)

    def lower_expr(self, resty: Internal, expr: Internal) -> Internal:
        """Called for each expression."""
        if expr.op == "getattr" and isinstance(self.typeof(expr.value.name), types.BaseNamedTuple):
            fields = self.typeof(expr.value.name)
            place = fields.fields.index(expr.attr)
            value = self.builder.extract_value(self.loadvar(expr.value.name), place)
            return self.context.cast(self.builder, value, fields[place], resty)
        if expr.op == "static_getitem" and expr.index_var is not None and self._is_array(expr.value):
            return self.lower_getitem(resty, expr, expr.value, expr.index_var, self.fndesc.calltypes[expr])
        return super().lower_expr(resty, expr)

    def lower_binop(self, resty: Internal, expr: Internal, op: Internal) -> Internal:
        """Called for operators with two operands; only powers have forms of their own for constants."""
        kinds = [self.typeof(operand.name) for operand in (expr.lhs, expr.rhs)]
        if op in _POWERS or not all(isinstance(kind, _PLAIN) for kind in kinds):
            return super().lower_binop(resty, expr, op)
        given = self.fndesc.calltypes[expr].args
        operands = [
            self.context.cast(self.builder, self.loadvar(operand.name), kind, wanted)
            for operand, kind, wanted in zip((expr.lhs, expr.rhs), kinds, given, strict=True)
        ]
        found, signature = _operation(self.context, op, given)
        value = found._imp(self.context, self.builder, signature, operands, loc=self.loc)
        self.context.add_linking_libs(getattr(found, "libs", ()))
        return self.context.cast(self.builder, value, signature.return_type, resty)

    def lower_getitem(
        self, resty: Internal, expr: Internal, value: Internal, index: Internal, signature: Internal
    ) -> Internal:
        """Called for ``value[index]``."""
        pointer = self._element(value, index)
        if pointer is None:
            return super().lower_getitem(resty, expr, value, index, signature)
        array = self.typeof(value.name)
        align = None if array.aligned else 1
        element = self.context.unpack_value(self.builder, array.dtype, pointer, align=align)
        return self.context.cast(self.builder, element, array.dtype, resty)

    def lower_setitem(
        self, target_var: Internal, index_var: Internal, value_var: Internal, signature: Internal
    ) -> Internal:
        """Called for ``target[index] = value``."""
        pointer = self._element(target_var, index_var)
        if pointer is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        array, given = self.typeof(target_var.name), self.typeof(value_var.name)
        element = self.context.cast(self.builder, self.loadvar(value_var.name), given, signature.args[2])
        element = self.context.cast(self.builder, element, signature.args[2], array.dtype)
        align = None if array.aligned else 1
        return self.context.pack_value(self.builder, array.dtype, element, pointer, align=align)

    def _is_array(self, variable: Internal) -> bool:
        return type(self.typeof(variable.name)) is types.Array

    def _element(self, value: Internal, index: Internal) -> Internal:
        """Address of an element of an array of numbers; None unless one whole number is given for each dimension."""
        array, kind = self.typeof(value.name), self.typeof(index.name)
        if type(array) is not types.Array or not isinstance(array.dtype, _PLAIN):
            return None
        is_tuple = isinstance(kind, types.BaseTuple)
        kinds = [types.unliteral(one) for one in (kind.types if is_tuple else (kind,))]
        if len(kinds) != array.ndim or not all(isinstance(one, types.Integer) for one in kinds):
            return None
        given = self.loadvar(index.name)
        indices = cgutils.unpack_tuple(self.builder, given) if is_tuple else [given]
        return self._address(array, self.loadvar(value.name), kinds, indices)

    def _address(self, array: Internal, described: Internal, kinds: Internal, indices: Internal) -> Internal:
        builder = self.builder
        places = []
        for axis, (kind, index) in enumerate(zip(kinds, indices, strict=True)):
            if not kind.signed:
                places.append(self.context.cast(builder, index, kind, types.uintp))
                continue
            place = self.context.cast(builder, index, kind, types.intp)
            size = builder.extract_value(described, [_SHAPE, axis])
            is_negative = builder.icmp_signed("<", place, place.type(0))
            places.append(builder.select(is_negative, builder.add(place, size), place))
        data = builder.extract_value(described, _DATA)
        if array.layout != "C":
            strides = [builder.extract_value(described, [_STRIDES, axis]) for axis in range(array.ndim)]
            offset = functools.reduce(
                builder.add, [builder.mul(s, p) for s, p in zip(strides, places, strict=True)]
            )
            return cgutils.pointer_add(builder, data, offset)
        offset = places[0]
        for axis in range(1, array.ndim):
            size = builder.extract_value(described, [_SHAPE, axis])
            offset = builder.add(builder.mul(offset, size), places[axis])
        return builder.gep(data, [offset])


def _always_set(blocks: Internal, dominators: Internal, order: list[int]) -> set[str]:
    """Variables that are assigned once, before every use in whatever order blocks run."""
    assigned: dict[str, tuple[int, int]] = {}
    used: list[tuple[str, int, int]] = []
    for offset in order:
        for place, statement in enumerate(blocks[offset].body):
            read = statement
            if isinstance(statement, ir.Assign):
                name = statement.target.name
                assigned[name] = (-1, 0) if name in assigned else (offset, place)
                read = statement.value
            if isinstance(read, ir.Inst):
                used += [(variable.name, offset, place) for variable in read.list_vars()]
            elif isinstance(read, ir.Var):
                used.append((read.name, offset, place))
    always = {name for name, (offset, _) in assigned.items() if offset >= 0}
    for name, offset, place in used:
        if name in always:
            first, before = assigned[name]
            is_before = place > before if first == offset else first in dominators[offset]
            if not is_before:
                always.discard(name)
    return always


def _operation(context: Internal, op: Internal, kinds: Internal) -> tuple[Internal, Internal]:
    """Numba's implementation of an operator for some types, and its signature."""
    key = (op, *(kind._code for kind in kinds))
    if key not in _OPERATIONS:
        function = context.typing_context.resolve_value_type(op)
        signature = function.get_call_type(context.typing_context, kinds, {})
        _OPERATIONS[key] = context.get_function(function, signature), signature
    return _OPERATIONS[key]


_OPERATIONS: dict[Internal, tuple[Internal, Internal]] = {}
"""Implementations found so far, by operator and types."""
