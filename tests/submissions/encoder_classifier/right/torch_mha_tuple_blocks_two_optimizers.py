# nn.MultiheadAttention inside; blocks return (output, attention); one AdamW per parameter group
import math
import torch
from torch import nn

def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float).view(-1, 1)
    dim = torch.arange(d_model).view(1, -1)
    angle = pos / torch.pow(torch.tensor(10000.0), (2 * torch.div(dim, 2, rounding_mode='floor')) / d_model)
    # cos(a) = sin(a + pi/2)
    return torch.where(dim % 2 == 0, angle.sin(), angle.cos())

def padding_mask(input_ids, pad_id):
    mask = torch.zeros(input_ids.shape, dtype=torch.bool)
    mask[input_ids == pad_id] = True
    return mask

class AddNorm(nn.Module):
    def __init__(self, d, p):
        super().__init__()
        self.ln, self.drop = nn.LayerNorm(d, eps=1e-6), nn.Dropout(p)
    def forward(self, x, sub):
        return self.ln(x + self.drop(sub))

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, n_heads, dropout, bias=False, batch_first=True)
        self.addnorm = nn.ModuleList([AddNorm(d_model, dropout), AddNorm(d_model, dropout)])
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(d_ff, d_model))
    def forward(self, x, key_padding_mask=None):
        a, w = self.mha(x, x, x, key_padding_mask=key_padding_mask, average_attn_weights=False)
        x = self.addnorm[0](x, a)
        return self.addnorm[1](x, self.ffn(x)), w

class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        layers = [EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)]
        self.layers = nn.ModuleList(layers)
        self.maps = []
    def forward(self, x, key_padding_mask=None):
        self.maps = []
        for layer in self.layers:
            x, w = layer(x, key_padding_mask)
            self.maps.append(w.detach())
        return x

class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2, max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.word = nn.Embedding(vocab_size, d_model)
        self.cls_token = nn.Parameter(torch.empty(1, d_model).normal_(std=.02))
        self.pos = nn.Embedding.from_pretrained(sinusoidal_positional_encoding(max_len + 1, d_model), freeze=True)
        self.enc = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.classifier = nn.Linear(d_model, n_classes)
    def forward(self, input_ids):
        words = self.word(input_ids)
        x = torch.stack([torch.cat([self.cls_token, w]) for w in words])
        x = x + self.pos(torch.arange(x.size(1), device=x.device))
        keys = torch.cat([input_ids.new_full((len(input_ids), 1), self.pad_id + 1), input_ids], 1)
        return self.classifier(self.enc(x, padding_mask(keys, self.pad_id))[:, 0, :])

def parameter_groups(model, weight_decay):
    norms = {id(p) for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    rest = [p for n, p in trained if id(p) in norms or n.endswith('bias')]
    ids = {id(p) for p in rest}
    return [{'params': rest, 'weight_decay': 0}, {'params': [p for _, p in trained if id(p) not in ids], 'weight_decay': weight_decay}]

def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * (step / warmup_steps)
    if step >= total_steps:
        return 0.0
    return lr_max * (1 + math.cos(math.pi * (step - warmup_steps) / (total_steps - warmup_steps))) / 2

def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizers = [torch.optim.AdamW([g], lr=lr_max) for g in parameter_groups(model, weight_decay)]
    loss_fn = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    model.train()
    losses = []
    for epoch in range(epochs):
        [o.zero_grad() for o in optimizers]
        loss = loss_fn(model(input_ids), labels)
        loss.backward()
        for o in optimizers:
            o.param_groups[0]['lr'] = warmup_cosine(epoch + 1, 5, max(epochs, 6), lr_max)
            o.step()
        losses.append(loss.item())
    return losses
