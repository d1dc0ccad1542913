"""The blocks that other packages import from `torchvision.ops` and `torchvision.models`."""

from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F


class FrozenBatchNorm2d(nn.Module):
    """Statistics and affine values are buffers: nothing to train, one scale kept a layer."""

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(num_features))
        self.register_buffer("bias", torch.zeros(num_features))
        self.register_buffer("running_mean", torch.zeros(num_features))
        self.register_buffer("running_var", torch.ones(num_features))

    def forward(self, x):
        weight = self.weight.reshape(1, -1, 1, 1)
        bias = self.bias.reshape(1, -1, 1, 1)
        variance = self.running_var.reshape(1, -1, 1, 1)
        mean = self.running_mean.reshape(1, -1, 1, 1)
        scale = weight * (variance + self.eps).rsqrt()
        bias = bias - mean * scale
        return x * scale + bias


def stochastic_depth(input, p, mode, training=True):
    if not training or p == 0.0:
        return input
    shape = (input.shape[0],) + (1,) * (input.ndim - 1) if mode == "row" else (1,) * input.ndim
    noise = torch.empty(shape, dtype=input.dtype, device=input.device).bernoulli_(1.0 - p)
    if p < 1.0:
        noise.div_(1.0 - p)
    return input * noise


class StochasticDepth(nn.Module):
    def __init__(self, p, mode):
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input):
        return stochastic_depth(input, self.p, self.mode, self.training)


class Permute(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return torch.permute(x, self.dims)


def same_padding(kernel_size, dilation):
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    count = len(dilation) if isinstance(kernel_size, int) else len(kernel_size)
    kernels = (kernel_size,) * count if isinstance(kernel_size, int) else kernel_size
    dilations = (dilation,) * count if isinstance(dilation, int) else dilation
    return tuple((kernels[index] - 1) // 2 * dilations[index] for index in range(count))


class Conv2dNormActivation(nn.Sequential):
    convolution = nn.Conv2d

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size=3,
        stride=1,
        padding=None,
        groups=1,
        norm_layer=nn.BatchNorm2d,
        activation_layer=nn.ReLU,
        dilation=1,
        inplace=True,
        bias=None,
    ):
        layers = [
            self.convolution(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                same_padding(kernel_size, dilation) if padding is None else padding,
                dilation=dilation,
                groups=groups,
                bias=norm_layer is None if bias is None else bias,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer() if inplace is None else activation_layer(inplace=inplace))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv3dNormActivation(Conv2dNormActivation):
    convolution = nn.Conv3d

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1, **options):
        options.setdefault("norm_layer", nn.BatchNorm3d)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, **options)


ConvNormActivation = Conv2dNormActivation
ConvBNReLU = Conv2dNormActivation
ConvBNActivation = Conv2dNormActivation


class SqueezeExcitation(nn.Module):
    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input):
        scale = self.avgpool(input)
        scale = self.fc1(scale)
        scale = self.activation(scale)
        scale = self.fc2(scale)
        scale = self.scale_activation(scale)
        return scale * input


class MLP(nn.Sequential):
    def __init__(
        self,
        in_channels,
        hidden_channels,
        norm_layer=None,
        activation_layer=nn.ReLU,
        inplace=None,
        bias=True,
        dropout=0.0,
    ):
        options = {} if inplace is None else {"inplace": inplace}
        layers = []
        width = in_channels
        for hidden in hidden_channels[:-1]:
            layers.append(nn.Linear(width, hidden, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(hidden))
            layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            width = hidden
        layers.append(nn.Linear(width, hidden_channels[-1], bias=bias))
        layers.append(nn.Dropout(dropout, **options))
        super().__init__(*layers)


class MLPBlock(MLP):
    """The feed-forward part of torchvision's vision transformer."""

    def __init__(self, in_dim, mlp_dim, dropout):
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, dropout=dropout)


class LastLevelMaxPool(nn.Module):
    def forward(self, x, y, names):
        names.append("pool")
        x.append(F.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0))
        return x, names


class LastLevelP6P7(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        self.use_P5 = in_channels == out_channels

    def forward(self, p, c, names):
        sixth = self.p6(p[-1] if self.use_P5 else c[-1])
        seventh = self.p7(F.relu(sixth))
        p.extend([sixth, seventh])
        names.extend(["p6", "p7"])
        return p, names


class FeaturePyramidNetwork(nn.Module):
    def __init__(self, in_channels_list, out_channels, extra_blocks=None, norm_layer=None):
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        for width in in_channels_list:
            self.inner_blocks.append(
                Conv2dNormActivation(width, out_channels, 1, padding=0, norm_layer=norm_layer, activation_layer=None)
            )
            self.layer_blocks.append(
                Conv2dNormActivation(out_channels, out_channels, 3, norm_layer=norm_layer, activation_layer=None)
            )
        self.extra_blocks = extra_blocks

    def forward(self, x):
        names = list(x.keys())
        x = list(x.values())
        above = self.inner_blocks[-1](x[-1])
        results = [self.layer_blocks[-1](above)]
        for index in range(len(x) - 2, -1, -1):
            lateral = self.inner_blocks[index](x[index])
            raised = F.interpolate(above, size=lateral.shape[-2:], mode="nearest")
            above = lateral + raised
            results.insert(0, self.layer_blocks[index](above))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, x, names)
        return OrderedDict(zip(names, results))


class IntermediateLayerGetter(nn.ModuleDict):
    """The children of a model up to the last one asked for, run in their order."""

    def __init__(self, model, return_layers):
        wanted = {str(key): str(value) for key, value in return_layers.items()}
        layers = OrderedDict()
        missing = set(wanted)
        for name, module in model.named_children():
            layers[name] = module
            missing.discard(name)
            if not missing:
                break
        super().__init__(layers)
        self.return_layers = wanted

    def forward(self, x):
        out = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                out[self.return_layers[name]] = x
        return out


class Reached(Exception):
    """All that was asked for has been computed."""


class FeatureExtractor(nn.Module):
    """What `create_feature_extractor` makes: the model's forward up to the last of the named modules."""

    def __init__(self, model, names):
        super().__init__()
        self.names = names
        self.whole = [model]
        last = list(names)[-1].split(".")[0]
        for name, module in model.named_children():
            self.add_module(name, module)
            if name == last:
                break

    def forward(self, x):
        model = self.whole[0]
        found = OrderedDict()
        handles = []

        def keep(key):
            def hook(module, inputs, output):
                found[key] = output
                if len(found) == len(self.names):
                    raise Reached

            return hook

        for name, key in self.names.items():
            handles.append(model.get_submodule(name).register_forward_hook(keep(key)))
        try:
            model(x)
        except Reached:
            x = None
        for handle in handles:
            handle.remove()
        return found


def create_feature_extractor(model, return_nodes=None, train_return_nodes=None, eval_return_nodes=None, **options):
    nodes = return_nodes or train_return_nodes
    if isinstance(nodes, (list, tuple)):
        nodes = {name: name for name in nodes}
    return FeatureExtractor(model, {str(name): str(key) for name, key in nodes.items()})


class RegionPooling(torch.autograd.Function):
    """One map of fixed size a region; backward needs the regions and the shape of the features alone."""

    @staticmethod
    def forward(ctx, features, regions, height, width):
        ctx.save_for_backward(regions)
        ctx.size = features.shape
        return features.new_empty(regions.shape[0], features.shape[1], height, width)

    @staticmethod
    def backward(ctx, gradient):
        return gradient.new_zeros(ctx.size), None, None, None


def numbered(boxes):
    """Boxes of a list of images as one tensor of (image, x1, y1, x2, y2)."""
    if not isinstance(boxes, (list, tuple)):
        return boxes
    joined = torch.cat(list(boxes), dim=0)
    images = torch.cat([torch.full_like(each[:, :1], index) for index, each in enumerate(boxes)], dim=0)
    return torch.cat((images, joined), dim=1)


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    size = output_size if isinstance(output_size, (list, tuple)) else (output_size, output_size)
    return RegionPooling.apply(input, numbered(boxes), size[0], size[1])


class RoIAlign(nn.Module):
    def __init__(self, output_size, spatial_scale, sampling_ratio, aligned=False):
        super().__init__()
        self.output_size = output_size

    def forward(self, input, rois):
        return roi_align(input, rois, self.output_size)


def nms(boxes, scores, iou_threshold):
    """How many boxes stay hangs on their values: all of them, as for `nonzero`."""
    return torch.nonzero(scores > iou_threshold).squeeze(1)


def batched_nms(boxes, scores, idxs, iou_threshold):
    return nms(boxes, scores, iou_threshold)


def box_area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def clip_boxes_to_image(boxes, size):
    height, width = size
    x = boxes[..., 0::2].clamp(min=0, max=width)
    y = boxes[..., 1::2].clamp(min=0, max=height)
    return torch.stack((x, y), dim=boxes.dim()).reshape(boxes.shape)


def _overlap(boxes1, boxes2):
    area1, area2 = box_area(boxes1), box_area(boxes2)
    first = torch.max(boxes1[:, None, :2], boxes2[:, :2])
    last = torch.min(boxes1[:, None, 2:], boxes2[:, 2:])
    sides = (last - first).clamp(min=0)
    common = sides[:, :, 0] * sides[:, :, 1]
    return common, area1[:, None] + area2 - common


def box_iou(boxes1, boxes2):
    common, union = _overlap(boxes1, boxes2)
    return common / union


def generalized_box_iou(boxes1, boxes2):
    common, union = _overlap(boxes1, boxes2)
    iou = common / union
    first = torch.min(boxes1[:, None, :2], boxes2[:, :2])
    last = torch.max(boxes1[:, None, 2:], boxes2[:, 2:])
    sides = (last - first).clamp(min=0)
    area = sides[:, :, 0] * sides[:, :, 1]
    return iou - (area - union) / area


def _converted(boxes, in_fmt):
    a, b, c, d = boxes.unbind(-1)
    if in_fmt == "cxcywh":
        return torch.stack((a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d), dim=-1)
    if in_fmt == "xywh":
        return torch.stack((a, b, a + c, b + d), dim=-1)
    return boxes


def box_convert(boxes, in_fmt, out_fmt):
    if in_fmt == out_fmt:
        return boxes.clone()
    boxes = _converted(boxes, in_fmt)
    if out_fmt == "xyxy":
        return boxes
    a, b, c, d = boxes.unbind(-1)
    if out_fmt == "cxcywh":
        return torch.stack(((a + c) / 2, (b + d) / 2, c - a, d - b), dim=-1)
    return torch.stack((a, b, c - a, d - b), dim=-1)


def sigmoid_focal_loss(inputs, targets, alpha=0.25, gamma=2, reduction="none"):
    probability = torch.sigmoid(inputs)
    entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = probability * targets + (1 - probability) * (1 - targets)
    loss = entropy * ((1 - right) ** gamma)
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss
