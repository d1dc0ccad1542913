def train_gcn(gnn, graphs, opt, xent, epochs):
    for epoch in range(epochs):
        loss_all = 0
        for g in graphs:
            opt.zero_grad()
            out = gnn(g.x, g.edge_index, g.batch)
            loss = xent(out, g.y)
            loss.backward()
            loss_all += loss.item() * g.num_graphs
            opt.step()
        print(f"{epoch}: {loss_all / len(graphs.dataset):.4f}")
