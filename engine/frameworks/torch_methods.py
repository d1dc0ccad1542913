"""Names of methods that PyTorch defines on modules and tensors. Source: docs.pytorch.org/docs/stable API reference."""

from __future__ import annotations

#: Methods of nn.Module that compute nothing. https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
MODULE_METHODS = frozenset(
    [
        "parameters",
        "named_parameters",
        "modules",
        "named_modules",
        "children",
        "named_children",
        "buffers",
        "named_buffers",
        "state_dict",
        "load_state_dict",
        "eval",
        "train",
        "zero_grad",
        "requires_grad_",
        "to",
        "cuda",
        "cpu",
        "half",
        "float",
        "double",
        "bfloat16",
        "type",
        "apply",
        "register_buffer",
        "register_parameter",
        "register_module",
        "add_module",
        "register_forward_hook",
        "register_full_backward_hook",
        "register_forward_pre_hook",
        "get_submodule",
        "share_memory",
        "to_empty",
        "get_parameter",
        "get_buffer",
        "compile",
        "gradient_checkpointing_enable",
        "gradient_checkpointing_disable",
        "save_pretrained",
        "push_to_hub",
        "set_submodule",
        "get_input_embeddings",
        "resize_token_embeddings",
        "print_trainable_parameters",
        "init_weights",
        "enable_input_require_grads",
        "no_sync",
        "merge_and_unload",
        "set_input_embeddings",
        "half",
        "get_output_embeddings",
        "num_parameters",
        "get_extra_state",
        "extra_repr",
        "tokenize",
    ]
)
#: How libraries begin the names of methods that change or describe a module: torch.nn.Module's own registrations,
#: transformers' PreTrainedModel, PEFT's tuners and timm's models. What they return carries no graph.
DESCRIBING = (
    "register_", "add_", "set_", "enable_", "disable_", "load_", "save_", "delete_", "remove_", "is_", "has_",
    "print_", "named_", "freeze", "unfreeze", "reset_", "init_", "merge_", "unmerge_", "create_", "update_", "list_",
)  # fmt: skip
#: Names that only tensors have among what training code touches.
TENSOR_METHODS = frozenset([
    "mean", "sum", "view", "reshape", "permute", "transpose", "squeeze", "unsqueeze", "flatten", "softmax",
    "log_softmax", "sigmoid", "relu", "tanh", "log", "exp", "pow", "sqrt", "matmul", "mm", "bmm", "gather",
    "scatter", "detach", "clone", "norm", "std", "var", "abs", "clamp", "clamp_min", "clamp_max", "max", "min",
    "argmax", "argmin", "topk", "sort", "cumsum", "cumprod", "float", "double", "half", "long", "bool", "int", "mul",
    "div", "add", "sub", "neg", "t", "expand", "repeat", "chunk", "split", "unbind", "index_select", "masked_fill",
    "masked_select", "where", "eq", "ne", "gt", "lt", "ge", "le", "any", "all", "contiguous", "size", "dim", "numel",
    "type_as", "backward", "item", "cpu", "numpy", "tolist", "logsumexp", "amax", "amin", "square", "reciprocal",
    "rsqrt", "sign", "round", "floor", "ceil", "logit", "erf", "sin", "cos", "triu", "tril", "diag", "diagonal",
    "outer", "cross", "dot", "mv", "addmm", "baddbmm", "lerp", "median", "mode", "quantile", "prod", "unfold",
    "roll", "flip", "expand_as", "view_as", "reshape_as", "narrow", "select", "new_zeros", "new_ones", "new_full",
    "new_tensor", "new_empty", "is_floating_point", "retain_grad", "register_hook", "storage", "data_ptr",
    "element_size", "stride", "nelement", "ndimension", "swapaxes", "movedim", "squeeze_", "nan_to_num", "bernoulli",
    "multinomial", "cosine_similarity", "true_divide", "multiply", "divide", "subtract", "unsqueeze_", "cov", "sub_",
    "add_", "mul_", "div_", "zero_", "fill_", "copy_", "clamp_", "normal_", "uniform_", "lerp_", "addcmul_",
    "addcdiv_", "masked_fill_", "scatter_", "exp_", "sqrt_", "pow_", "neg_", "detach_", "requires_grad_", "set_",
    "random_", "trunc", "index_add_", "index_copy_", "index_fill_", "bernoulli_", "ravel", "pin_memory", "mT",
    "nonzero", "count_nonzero", "unique", "index_put", "index_put_", "scatter_add", "scatter_add_", "take",
    "to_dense", "to_sparse", "isnan", "isinf", "isfinite", "logical_and", "logical_or", "logical_not", "xlogy",
    "renorm", "cuda",
])  # fmt: skip


def computes(method: str) -> bool:
    """Whether a module's method of that name may be a pass through the network, as far as its name tells."""
    return method not in MODULE_METHODS and not method.startswith(DESCRIBING)
