"""A network made smaller, with a bound on what that changes, and written as ONNX.

python examples/prune_and_export.py
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from hibnn import ContinualClassifier

TOLERANCE = 0.5


def main() -> None:
    """Fit, compact, save, export, and ask the exported graph the same questions."""
    x, y = load_wine(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.4, random_state=0, stratify=y)
    model = ContinualClassifier(epochs=30, verbose=False, random_state=0).fit(train_x, train_y)
    model.save("whole.safetensors")
    before = describe("whole", model, "whole.safetensors", test_x, test_y)

    model.compact(tolerance=TOLERANCE)
    model.save("compact.safetensors")
    after = describe("compact", model, "compact.safetensors", test_x, test_y)
    print(f"no probability moved by more than {np.abs(before - after).max():.3f} (bound on average: {TOLERANCE / 2})")
    compare_with_onnx(model, test_x)


def describe(name: str, model: ContinualClassifier, path: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Print what a model weighs and how good it is; return its answers."""
    neurons, size = len(model.model_.activity[0]), Path(path).stat().st_size / 1e3
    print(f"{name}: {neurons} neurons, {model.n_parameters()} numbers, {size:.0f} kB, accuracy {model.score(x, y):.3f}")
    return model.predict_proba(x)


def compare_with_onnx(model: ContinualClassifier, x: np.ndarray) -> None:
    """The same answers from the runtime that needs neither torch nor hibnn."""
    try:
        import onnxruntime
    except ImportError:
        print("exporting needs the extra onnx: pip install 'hibnn[onnx]'.")
        return
    model.export_onnx("model.onnx")
    session = onnxruntime.InferenceSession("model.onnx")
    probabilities, *_ = session.run(None, {"x": x})
    print(f"model.onnx answers alike: largest difference {np.abs(probabilities - model.predict_proba(x)).max():.0e}")


if __name__ == "__main__":
    main()
