def train_multitask(trunk, seg_head, depth_head, loader, opt, ce, l1):
    for img, seg, depth in loader:
        opt.zero_grad()
        z = trunk(img)
        total = ce(seg_head(z), seg) + 0.5 * l1(depth_head(z), depth)
        total.backward()
        opt.step()
