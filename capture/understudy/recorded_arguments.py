"""Arguments that the operators' rows (et_schema/facts/src/operator_rows_*.cpp) mark as recorded.

A copy that readers_test compares with the rows. A row also holds for an operator's in-place form.
"""

# Arguments whose integers decide which memory is accessed, or the time.
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
# Arguments whose zeros decide the time.
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
