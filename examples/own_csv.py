"""A table of one's own in two files: learn the first, save, load, go on with the second, predict.

python examples/own_csv.py

The tables may hold words, dates and gaps too. Files of more rows than fit into memory: `hibnn fit` (see the tutorial).
"""

from pathlib import Path

import pandas
from sklearn.datasets import load_breast_cancer

import hibnn

TARGET = "diagnosis"


def write_files() -> None:
    """Two hospitals' patients and a few new ones, as CSV files with a header."""
    data = load_breast_cancer(as_frame=True)
    table = data.frame.rename(columns={"target": TARGET}).sample(frac=1, random_state=0)
    table[TARGET] = data.target_names[table[TARGET]]
    for name, part in (("first", table[:250]), ("second", table[250:500]), ("new", table[500:])):
        part.to_csv(f"{name}.csv", index=False)


def read(name: str) -> tuple[pandas.DataFrame, pandas.Series]:
    """The inputs and the target of a file."""
    table = pandas.read_csv(name)
    return table.drop(columns=TARGET), table[TARGET]


def main() -> None:
    """Fit, save, load, go on, predict."""
    write_files()
    new, truth = read("new.csv")
    model = hibnn.ContinualClassifier(epochs=20, verbose=False, random_state=0)
    model.fit(*read("first.csv"))
    print(f"after first.csv: accuracy {model.score(new, truth):.3f} on {len(new)} new patients")
    model.save("model.safetensors")

    model = hibnn.load_model("model.safetensors")
    model.partial_fit(*read("second.csv"))
    print(f"after second.csv: accuracy {model.score(new, truth):.3f}")
    model.save("model.safetensors")

    answers = pandas.DataFrame(model.predict_proba(new), columns=model.classes_)
    answers["uncertainty"] = model.predict_uncertainty(new).total
    answers.to_csv("answers.csv", index=False)
    print(answers.sort_values("uncertainty", ascending=False).head(3).round(2).to_string(index=False))
    print(f"model.safetensors has {Path('model.safetensors').stat().st_size / 1e3:.0f} kB; answers are in answers.csv")


if __name__ == "__main__":
    main()
