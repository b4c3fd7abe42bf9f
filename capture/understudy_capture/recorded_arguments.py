"""What the operators' rows (et_schema/facts/src/operator_rows_*.cpp) say is recorded.

A copy, which readers_test compares; a row holds for an operator's in-place form too.
"""

# Arguments whose integers decide what memory is touched, or how long it takes.
INDEX_ARGUMENTS = {
    "aten::_embedding_bag": ("indices",),
    "aten::_embedding_bag_forward_only": ("indices",),
    "aten::_grouped_mm": ("offs",),
    "aten::_index_put_impl": ("indices",),
    "aten::_scaled_grouped_mm": ("offs",),
    "aten::_scaled_grouped_mm_v2": ("offs",),
    "aten::_unique2": ("self",),
    "aten::bincount": ("self",),
    "aten::embedding": ("indices",),
    "aten::embedding_dense_backward": ("indices",),
    "aten::gather": ("index",),
    "aten::index": ("indices",),
    "aten::index_add": ("index",),
    "aten::index_copy": ("index",),
    "aten::index_fill": ("index",),
    "aten::index_put": ("indices",),
    "aten::index_reduce": ("index",),
    "aten::index_select": ("index",),
    "aten::put": ("index",),
    "aten::scatter": ("index",),
    "aten::scatter_add": ("index",),
    "aten::scatter_reduce": ("index",),
    "aten::sort": ("self",),
    "aten::take": ("index",),
    "aten::topk": ("self",),
    "aten::unique_consecutive": ("self",),
    "aten::unique_dim": ("self",),
}
# Arguments whose zeros decide how long it takes.
ZERO_ARGUMENTS = {
    "aten::_foreach_addcdiv": ("tensor1",),
    "aten::_foreach_log": ("self",),
    "aten::_foreach_sqrt": ("self",),
    "aten::addcdiv": ("tensor1",),
    "aten::log": ("self",),
    "aten::log10": ("self",),
    "aten::log2": ("self",),
    "aten::sqrt": ("self",),
}
