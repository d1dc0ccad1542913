"""PyTorch itself: losses, activations, creation, randomness, grad modes, autocast, seeds, checkpoints, transfers."""

from __future__ import annotations

from engine.frameworks.effects import Effect, Framework

#: nn.<Class>: functional name. https://docs.pytorch.org/docs/stable/nn.html#loss-functions
LOSS_CLASSES: dict[str, str] = {
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
    "CTCLoss": "ctc_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "GaussianNLLLoss": "gaussian_nll_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
    "MultiLabelMarginLoss": "multilabel_margin_loss",
    "MultiLabelSoftMarginLoss": "multilabel_soft_margin_loss",
    "SoftMarginLoss": "soft_margin_loss",
    "CosineEmbeddingLoss": "cosine_embedding_loss",
    "MultiMarginLoss": "multi_margin_loss",
    "TripletMarginLoss": "triplet_margin_loss",
    "TripletMarginWithDistanceLoss": "triplet_margin_with_distance_loss",
}

#: Activation name: the kind of value it gives.
ACTIVATION_KINDS: dict[str, str] = {
    "softmax": "probabilities",
    "log_softmax": "log-probabilities",
    "gumbel_softmax": "probabilities",
    "softmin": "probabilities",
    "sigmoid": "sigmoid",
    "logsigmoid": "log-sigmoid",
    "hardsigmoid": "sigmoid",
    "relu": "relu",
    "relu6": "relu",
    "leaky_relu": "leaky-relu",
    "elu": "elu",
    "gelu": "gelu",
    "silu": "silu",
    "tanh": "tanh",
    "softplus": "softplus",
}
ACTIVATION_CLASSES: dict[str, str] = {
    "Softmax": "softmax",
    "Softmax2d": "softmax",
    "LogSoftmax": "log_softmax",
    "Softmin": "softmin",
    "Sigmoid": "sigmoid",
    "LogSigmoid": "logsigmoid",
    "Hardsigmoid": "hardsigmoid",
    "ReLU": "relu",
    "ReLU6": "relu6",
    "LeakyReLU": "leaky_relu",
    "ELU": "elu",
    "GELU": "gelu",
    "SiLU": "silu",
    "Tanh": "tanh",
    "Softplus": "softplus",
}

#: torch.nn classes that hold no parameters of their own (containers hold their children's).
PARAMETERLESS = frozenset(
    [*LOSS_CLASSES, *ACTIVATION_CLASSES]
    + ["Identity", "Flatten", "Unflatten", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "MaxPool1d", "MaxPool2d", "MaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d", "PixelShuffle", "PixelUnshuffle", "ZeroPad2d", "ReflectionPad2d", "ReplicationPad2d", "ConstantPad2d", "Fold", "Unfold", "Mish", "Hardtanh", "Hardswish", "CELU", "SELU", "GLU", "Threshold", "Softsign", "Tanhshrink", "Hardshrink", "Softshrink", "CosineSimilarity", "PairwiseDistance", "LPPool1d", "LPPool2d", "MaxUnpool2d", "FractionalMaxPool2d", "ChannelShuffle", "ReflectionPad1d", "ReplicationPad1d"]
)
CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})
PARAMETER_CONTAINERS = frozenset({"ParameterList", "ParameterDict"})
DROPOUTS = frozenset({"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"})
BATCH_NORMS = frozenset(
    {
        "BatchNorm1d",
        "BatchNorm2d",
        "BatchNorm3d",
        "SyncBatchNorm",
        "LazyBatchNorm1d",
        "LazyBatchNorm2d",
        "LazyBatchNorm3d",
    }
)
#: Modules that return (output, state).
RECURRENT = frozenset({"RNN", "LSTM", "GRU"})

#: Tensor methods and torch functions whose result has no gradient by nature.
NOT_DIFFERENTIABLE = frozenset(
    ["argmax", "argmin", "argsort", "eq", "ne", "gt", "ge", "lt", "le", "isnan", "isinf", "isfinite", "any", "all", "nonzero", "bool", "long", "int", "short", "byte", "bincount", "searchsorted", "bucketize", "multinomial", "bernoulli", "size", "numel", "dim", "stride", "is_floating_point", "equal", "allclose", "count_nonzero", "logical_and", "logical_or", "logical_not", "logical_xor", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "empty_like", "histc", "one_hot", "get_device", "isclose", "element_size", "data_ptr", "tolist", "round", "sign", "floor", "ceil", "randint_like", "storage", "untyped_storage"]
)

#: torch.<name>: creates a tensor from sizes or data.
CREATORS = frozenset(
    ["zeros", "ones", "full", "empty", "arange", "linspace", "logspace", "eye", "tensor", "as_tensor", "from_numpy", "zeros_like", "ones_like", "full_like", "empty_like", "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "triu_indices", "tril_indices", "complex", "polar", "Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "DoubleTensor", "frombuffer", "asarray", "sparse_coo_tensor", "meshgrid"]
)
#: Of these, the ones that take data out of the graph when given a tensor.
COPIES_DATA = frozenset(["tensor", "as_tensor", "from_numpy", "Tensor", "FloatTensor", "LongTensor", "DoubleTensor"])
RANDOM = frozenset(
    ["rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal", "bernoulli", "multinomial", "poisson"]
)

_LOADER = tuple(
    ["dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory", "drop_last", "timeout", "worker_init_fn", "multiprocessing_context", "generator", "prefetch_factor", "persistent_workers", "pin_memory_device"]
)
_DISTRIBUTED_SAMPLER = tuple(["dataset", "num_replicas", "rank", "shuffle", "seed", "drop_last"])

CALLS: dict[str, Effect] = {
    "torch.no_grad": Effect("grad-mode", "no_grad"),
    "torch.inference_mode": Effect("grad-mode", "inference_mode", ("mode",)),
    "torch.enable_grad": Effect("grad-mode", "enable_grad"),
    "torch.set_grad_enabled": Effect("grad-mode", "set_grad_enabled", ("mode",)),
    "torch.autocast": Effect("autocast", "", ("device_type", "dtype", "enabled", "cache_enabled")),
    "torch.amp.autocast": Effect("autocast", "", ("device_type", "dtype", "enabled", "cache_enabled")),
    "torch.cuda.amp.autocast": Effect("autocast", "cuda", ("enabled", "dtype", "cache_enabled")),
    "torch.cpu.amp.autocast": Effect("autocast", "cpu", ("enabled", "dtype", "cache_enabled")),
    "torch.amp.GradScaler": Effect(
        "scaler", "", ("device", "init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
    ),
    "torch.cuda.amp.GradScaler": Effect(
        "scaler", "cuda", ("init_scale", "growth_factor", "backoff_factor", "growth_interval", "enabled")
    ),
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": Effect("scaler", "fsdp"),
    "torch.manual_seed": Effect("seed", "torch cuda", ("seed",)),
    "torch.random.manual_seed": Effect("seed", "torch cuda", ("seed",)),
    "torch.seed": Effect("seed", "torch cuda"),
    "torch.cuda.manual_seed": Effect("seed", "cuda", ("seed",)),
    "torch.cuda.manual_seed_all": Effect("seed", "cuda", ("seed",)),
    "numpy.random.seed": Effect("seed", "numpy", ("seed",)),
    "random.seed": Effect("seed", "random", ("seed",)),
    "torch.utils.data.DataLoader": Effect("loader", "", _LOADER),
    "torch.utils.data.dataloader.DataLoader": Effect("loader", "", _LOADER),
    "torchdata.stateful_dataloader.StatefulDataLoader": Effect("loader", "", _LOADER),
    "torch_geometric.loader.DataLoader": Effect(
        "loader", "geometric", ("dataset", "batch_size", "shuffle", "follow_batch", "exclude_keys")
    ),
    "torch.utils.data.DistributedSampler": Effect("sampler", "distributed", _DISTRIBUTED_SAMPLER),
    "torch.utils.data.RandomSampler": Effect(
        "sampler", "random", ("data_source", "replacement", "num_samples", "generator")
    ),
    "torch.utils.data.SequentialSampler": Effect("sampler", "sequential", ("data_source",)),
    "torch.utils.data.SubsetRandomSampler": Effect("sampler", "random", ("indices", "generator")),
    "torch.utils.data.WeightedRandomSampler": Effect(
        "sampler", "random", ("weights", "num_samples", "replacement", "generator")
    ),
    "torch.utils.data.BatchSampler": Effect("sampler", "batch", ("sampler", "batch_size", "drop_last")),
    "torch.utils.data.TensorDataset": Effect("dataset", "tensor"),
    "torch.utils.data.Subset": Effect("dataset", "subset", ("dataset", "indices")),
    "torch.utils.data.ConcatDataset": Effect("dataset", "concat", ("datasets",)),
    "torch.utils.data.random_split": Effect("random-split", "", ("dataset", "lengths", "generator")),
    "torch.save": Effect("save", "torch.save", ("obj", "f")),
    "torch.load": Effect("load", "torch.load", ("f", "map_location")),
    "torch.jit.load": Effect("load-module", "torch.jit.load", ("f", "map_location")),
    "torch.utils.checkpoint.checkpoint": Effect("checkpoint", "", ("function",)),
    "torch.utils.checkpoint.checkpoint_sequential": Effect("checkpoint", "sequential", ("functions", "segments")),
    "torch.nn.utils.clip_grad_norm_": Effect("clip", "norm", ("parameters", "max_norm", "norm_type")),
    "torch.nn.utils.clip_grad_norm": Effect("clip", "norm", ("parameters", "max_norm", "norm_type")),
    "torch.nn.utils.clip_grad.clip_grad_norm_": Effect("clip", "norm", ("parameters", "max_norm", "norm_type")),
    "torch.nn.utils.clip_grad_value_": Effect("clip", "value", ("parameters", "clip_value")),
    "torch.autograd.grad": Effect(
        "autograd-grad", "", ("outputs", "inputs", "grad_outputs", "retain_graph", "create_graph")
    ),
    "torch.autograd.backward": Effect("backward", "tensor", ("loss", "gradient", "retain_graph", "create_graph")),
    "torch.autograd.Variable": Effect("variable", "", ("data", "requires_grad")),
    "torch.cuda.synchronize": Effect("sync", "synchronize"),
    "torch.cuda.empty_cache": Effect("sync", "empty_cache"),
    "gc.collect": Effect("sync", "gc"),
    "torch.cuda.set_device": Effect("set-device"),
    "torch.compile": Effect("wrap", "compile", ("module",)),
    "torch.jit.script": Effect("wrap", "compile", ("module",)),
    "torch.nn.DataParallel": Effect("wrap", "data-parallel", ("module",)),
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": Effect("passthrough", "", ("module",)),
    "copy.deepcopy": Effect("copy"),
    "copy.copy": Effect("copy"),
    "torch.nn.functional.dropout": Effect("dropout", "dropout", ("input", "p", "training", "inplace")),
    "torch.nn.functional.dropout1d": Effect("dropout", "dropout1d", ("input", "p", "training", "inplace")),
    "torch.nn.functional.dropout2d": Effect("dropout", "dropout2d", ("input", "p", "training", "inplace")),
    "torch.nn.functional.dropout3d": Effect("dropout", "dropout3d", ("input", "p", "training", "inplace")),
    "torch.nn.functional.alpha_dropout": Effect("dropout", "alpha_dropout", ("input", "p", "training", "inplace")),
    "torch.nn.functional.feature_alpha_dropout": Effect(
        "dropout", "feature_alpha_dropout", ("input", "p", "training", "inplace")
    ),
    "torch.dropout": Effect("dropout", "dropout", ("input", "p", "training")),
    "torch.nn.functional.scaled_dot_product_attention": Effect(
        "dropout",
        "scaled_dot_product_attention",
        ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale"),
    ),
    "torch.func.functional_call": Effect("functional-call", "", ("module", "parameters", "args", "kwargs")),
    "torch.nn.utils.stateless.functional_call": Effect("functional-call", "", ("module", "parameters", "args")),
    "torch.nn.Parameter": Effect("parameter", "", ("data", "requires_grad")),
    "torch.nn.parameter.Parameter": Effect("parameter", "", ("data", "requires_grad")),
    "torch.Generator": Effect("construct", "generator", ("device",)),
    "torch.device": Effect("construct", "device", ("type",)),
    "torch.utils.tensorboard.SummaryWriter": Effect("construct", "writer"),
    "torch.optim.swa_utils.AveragedModel": Effect("wrap", "copy", ("module",)),
    "torch.optim.Optimizer": Effect("optimizer", "", ("params", "defaults")),
    "torch.onnx.export": Effect("plain"),
    "torch.cuda.is_available": Effect("plain"),
    "torch.is_tensor": Effect("plain"),
    "torch.get_rng_state": Effect("plain"),
    "torch.nn.utils.parameters_to_vector": Effect("tensor", "parameters_to_vector"),
}
for _name, _functional in LOSS_CLASSES.items():
    CALLS[f"torch.nn.{_name}"] = Effect("module", "loss:" + _functional)
    CALLS[f"torch.nn.functional.{_functional}"] = Effect("loss", _functional, ("input", "target", "weight"))
CALLS["torch.nn.functional.cosine_embedding_loss"] = Effect("loss", "cosine_embedding_loss", ("input", "input2"))
CALLS["torch.nn.functional.softmax"] = Effect("activation", "softmax", ("input", "dim"))
for _kind in ACTIVATION_KINDS:
    for _home in ("torch.nn.functional.", "torch.", "torch.special."):
        CALLS.setdefault(_home + _kind, Effect("activation", _kind, ("input", "dim")))
CALLS["torch.nn.functional.gumbel_softmax"] = Effect(
    "activation", "gumbel_softmax", ("input", "tau", "hard", "eps", "dim")
)
CALLS["torch.special.expit"] = Effect("activation", "sigmoid", ("input",))
for _name in CREATORS:
    CALLS.setdefault(f"torch.{_name}", Effect("create", _name))

PREFIXES: dict[str, Effect] = {
    "torch.optim.lr_scheduler.": Effect("scheduler", "", ("optimizer",)),
    "torch.optim.": Effect("optimizer", "", ("params", "lr")),
    "torch.nn.init.": Effect("init"),
    "torch.nn.utils.": Effect("passthrough"),
    "torch.nn.functional.": Effect("tensor"),
    "torch.nn.attention.": Effect("plain"),
    "torch.nn.": Effect("module"),
    "torch.linalg.": Effect("tensor"),
    "torch.fft.": Effect("tensor"),
    "torch.special.": Effect("tensor"),
    "torch.cuda.": Effect("plain"),
    "torch.multiprocessing.": Effect("plain"),
    "torch.backends.": Effect("plain"),
    "torch.utils.": Effect("plain"),
    "torch.distributions.": Effect("distribution"),
    "torch.": Effect("tensor"),
    "torch_geometric.nn.": Effect("module"),
    "torchvision.datasets.": Effect("dataset", "torchvision"),
    "torchvision.transforms.": Effect("construct", "transform"),
    "torchvision.models.": Effect("module", "library"),
    "segmentation_models_pytorch.": Effect("module", "library"),
    "timm.create_model": Effect("module", "library"),
    "timm.optim.": Effect("optimizer"),
    "timm.scheduler.": Effect("scheduler", "", ("optimizer",)),
    "bitsandbytes.optim.": Effect("optimizer", "", ("params", "lr")),
    "apex.optimizers.": Effect("optimizer", "", ("params", "lr")),
    "torch_optimizer.": Effect("optimizer", "", ("params", "lr")),
    "lion_pytorch.": Effect("optimizer", "", ("params", "lr")),
    "einops.": Effect("tensor"),
    "torchmetrics.": Effect("construct", "metric"),
    "numpy.random.": Effect("random", "numpy"),
    "numpy.": Effect("numpy"),
    "random.": Effect("random", "random"),
    "tqdm.": Effect("passthrough"),
    "rich.progress.track": Effect("passthrough"),
    "logging.": Effect("construct", "logger"),
    "wandb.": Effect("report", "wandb"),
    "contextlib.nullcontext": Effect("nullcontext"),
    "functools.partial": Effect("partial"),
    "webdataset.": Effect("dataset", "webdataset"),
    "datasets.": Effect("dataset", "datasets"),
    "deeplake.": Effect("dataset", "deeplake"),
    "streaming.": Effect("dataset", "streaming"),
}

BASES: dict[str, str] = {
    "torch.nn.Module": "module",
    "torch.nn.Sequential": "module",
    "torch.nn.ModuleList": "module",
    "torch.nn.ModuleDict": "module",
    "torch.utils.data.Dataset": "dataset",
    "torch.utils.data.IterableDataset": "iterable-dataset",
    "torch.utils.data.Sampler": "sampler",
    "torch.utils.data.DataLoader": "loader",
    "torch.optim.Optimizer": "optimizer",
    "torch.optim.lr_scheduler.LRScheduler": "scheduler",
    "torch.optim.lr_scheduler._LRScheduler": "scheduler",
    "torch.autograd.Function": "autograd-function",
    "torch_geometric.nn.MessagePassing": "module",
    "transformers.PreTrainedModel": "module",
    "torchmetrics.Metric": "metric",
}

ALIASES: dict[str, str] = {
    "torch.utils.data.distributed.": "torch.utils.data.",
    "torch.utils.data.dataset.": "torch.utils.data.",
    "torch.utils.data.sampler.": "torch.utils.data.",
    "torch.utils.data.dataloader.": "torch.utils.data.",
    "torch.nn.parallel.distributed.": "torch.nn.parallel.",
    "torch.nn.modules.loss.": "torch.nn.",
    "torch.nn.modules.batchnorm.": "torch.nn.",
    "torch.nn.modules.module.": "torch.nn.",
    "torch.autograd.grad_mode.": "torch.",
    "torch.autograd.variable.": "torch.autograd.",
    "torch.nn.DistributedDataParallel": "torch.nn.parallel.DistributedDataParallel",
    "torch.optim.optimizer.": "torch.optim.",
    "torch.distributed.distributed_c10d.": "torch.distributed.",
    "torch.cuda.amp.grad_scaler.": "torch.cuda.amp.",
    "torch.amp.grad_scaler.": "torch.amp.",
}

TORCH = Framework(
    "torch",
    "https://docs.pytorch.org/docs/stable/ (2.x API reference)",
    calls=CALLS,
    prefixes=PREFIXES,
    bases=BASES,
    aliases=ALIASES,
)
