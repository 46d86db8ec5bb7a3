"""A BiLSTM tagger trained twice: with labels one by one, and as a CRF, whose labels form a chain.

    python examples/bilstm_chain.py [--epochs N] [--sentences N]

Trains on the embedded news corpus and prints entity F1 on its held-out part, beside that of the linear SequenceTagger.
About a minute on one CPU core. Needs PyTorch: pip install "casimir[torch]".
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import torch
from torch import Tensor, nn

import casimir as cs
from casimir.datasets import load_news
from casimir.tasks.ner import entity_scores, extract, read_conll
from casimir.torch import StructuredLoss

WIDTHS = [50, 20, 20, 10]  # of the embeddings of the views of a word


def views(word: str) -> tuple[str, ...]:
    """What the network sees of a word: itself, its first and last letters, and its case."""
    case = "".join("A" if c.isupper() else "0" if c.isdigit() else "a" if c.isalpha() else c for c in word)
    return word.lower(), word[:3].lower(), word[-3:].lower(), f"{case[:2]} {case[-1:]} {len(word) > 3}"


class Numbers:
    """A number for every view of the training words; 0 is padding, 1 what was not seen."""

    def __init__(self, sentences: Sequence[Sequence[str]]) -> None:
        columns = zip(*(views(word) for words in sentences for word in words), strict=True)
        self.tables = [{view: 2 + j for j, view in enumerate(sorted(set(column)))} for column in columns]

    def __call__(self, words: Sequence[str]) -> Tensor:
        """int64[p, 4]"""
        return torch.tensor([[t.get(v, 1) for t, v in zip(self.tables, views(w), strict=True)] for w in words])


class Network(nn.Module):
    """Embeddings -> BiLSTM -> scores [B, T, L], and the transition, start and stop scores of a chain."""

    def __init__(self, tables: list[dict[str, int]], n_labels: int) -> None:
        super().__init__()
        self.embed = nn.ModuleList(nn.Embedding(len(t) + 2, w, 0) for t, w in zip(tables, WIDTHS, strict=True))
        self.lstm = nn.LSTM(sum(WIDTHS), 64, batch_first=True, bidirectional=True)
        self.score = nn.Linear(128, n_labels)
        self.dropout = nn.Dropout(0.4)
        self.pairwise = nn.Parameter(torch.zeros(n_labels, n_labels))
        self.start, self.stop = nn.Parameter(torch.zeros(n_labels)), nn.Parameter(torch.zeros(n_labels))

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        if self.training:  # some views are hidden, so that the network learns what to do with unknown words
            x = torch.where((torch.rand(x.shape) < 0.1) & (x > 0), 1, x)
        embedded = self.dropout(torch.cat([embed(x[..., k]) for k, embed in enumerate(self.embed)], dim=-1))
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.score(self.dropout(hidden))

    def chain(self) -> dict[str, Tensor]:
        return {"pairwise": self.pairwise, "start": self.start, "stop": self.stop}


def padded(parts: list[Tensor], value: int = 0) -> Tensor:
    return nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=value)


def train(network: Network, loss: StructuredLoss, chain: bool, xs: list[Tensor], ys: list[Tensor], epochs: int) -> None:
    """Adam on batches of 32 sentences."""
    optimizer = torch.optim.Adam(network.parameters(), lr=4e-3)
    network.train()
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = 4e-3 * (1 - epoch / epochs)
        for batch in torch.randperm(len(xs)).split(32):
            lengths = torch.tensor([len(xs[i]) for i in batch])
            scores = network(padded([xs[i] for i in batch]), lengths)
            target = padded([ys[i] for i in batch], loss.ignore_index)  # what is ignored needs no mask
            optimizer.zero_grad()
            loss(scores, target, **(network.chain() if chain else {})).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            optimizer.step()


@torch.no_grad()
def predict(network: Network, loss: StructuredLoss, chain: bool, xs: list[Tensor]) -> list[list[int]]:
    network.eval()
    lengths = torch.tensor([len(x) for x in xs])
    best = loss.decode(network(padded(xs), lengths), lengths=lengths, **(network.chain() if chain else {}))
    return [row[:length].tolist() for row, length in zip(best, lengths, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--sentences", type=int, help="train on the first N sentences only")
    options = parser.parse_args()
    torch.set_num_threads(1)  # the network is small: more threads would wait for each other

    corpus, held_out = read_conll(load_news().train), read_conll(load_news().heldout)
    sentences, labels = corpus.sentences[: options.sentences], corpus.labels[: options.sentences]
    names = sorted({label for tags in labels for label in tags})
    numbers = Numbers([s.words for s in sentences])
    xs, test = [numbers(s.words) for s in sentences], [numbers(s.words) for s in held_out.sentences]
    ys = [torch.tensor([names.index(label) for label in tags]) for tags in labels]

    structure = cs.Chain(len(names))
    loss = StructuredLoss(structure)  # of a CRF; StructuredLoss(structure, cs.Hamming()) is the structural hinge loss
    for name, chain in (("BiLSTM, labels one by one", False), ("BiLSTM + chain", True)):
        torch.manual_seed(0)
        started = time.perf_counter()
        network = Network(numbers.tables, len(names))
        train(network, loss, chain, xs, ys, options.epochs)
        found = [[names[j] for j in row] for row in predict(network, loss, chain, test)]
        scores = entity_scores(held_out.labels, found)
        print(f"{name:28} F1 {scores.f1:.3f}, {time.perf_counter() - started:.0f} s")
    started = time.perf_counter()
    tagger = cs.SequenceTagger().fit(list(extract(sentences, "paper")), labels)
    scores = entity_scores(held_out.labels, tagger.predict(list(extract(held_out.sentences, "paper"))))
    print(f"{'SequenceTagger, linear':28} F1 {scores.f1:.3f}, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
