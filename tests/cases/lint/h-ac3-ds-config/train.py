import deepspeed


def main(args, net, loader):
    engine, *_ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters())
    for b in loader:
        loss = engine(**b).loss / engine.gradient_accumulation_steps()
        engine.backward(loss)
        engine.step()
