# Writes tensors.json: tensors and how PyTorch 2.9.1 prints them with edgeitems=6.
import json, os
import torch
torch.manual_seed(5)
torch.set_printoptions(edgeitems=6)
inf, nan = float('inf'), float('nan')
tensors = [
    torch.zeros(1, 2, 2, 3), torch.ones(2, 3), torch.rand(1, 3, 4, 3), torch.rand(1, 40, 40, 3), torch.rand(2, 30, 50),
    torch.rand(1, 1, 1000), torch.rand(1, 1, 1001), torch.rand(1, 20, 12), torch.rand(3, 13, 30), torch.rand(14, 9, 9), torch.rand(1) * 1e6,
    torch.tensor([[[0.0, 1.0, 0.25]]]), torch.tensor([1e-7, 1.0]), torch.tensor([1e9, 2.0]), torch.tensor([100000.0, 2.0]), torch.tensor([nan, inf, -inf, 1.0]),
    torch.tensor([nan, 0.5, -inf, -1.25]), torch.tensor([nan, inf]), torch.tensor([-0.0, 3.0]), torch.tensor([1e-3, 0.5]), torch.tensor([5e-4, 0.6]),
    torch.zeros(1, 5, 0), torch.zeros(1, 0, 0), torch.randn(1, 2, 400) * 0.01, (torch.rand(1, 31, 17, 3) * 255).to(torch.uint8).float() / 255.0,
    torch.full((1, 64, 64), 1.0), torch.full((1, 64, 64, 3), 0.5), torch.tensor([[-1.5, 2.0], [33.0, -4.125]]),
]
word = lambda v: repr(v) if v != v or abs(v) == inf else v
json.dump([{'shape': list(t.shape), 'values': [word(v) for v in t.flatten().tolist()], 'text': str(t)} for t in tensors],
    open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tensors.json'), 'w'))
