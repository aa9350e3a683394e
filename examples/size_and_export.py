"""A network that keeps only the neurons its data ask for, beside one of a chosen width, and written as ONNX.

python examples/prune_and_export.py
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from hibnn import ContinualClassifier


def main() -> None:
    """Fit both, save, export, and ask the exported graph the same questions."""
    x, y = load_wine(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(x, y, test_size=0.4, random_state=0, stratify=y)
    for name, method in (("chosen width", "vcl"), ("sized by data", "ibnn")):
        model = ContinualClassifier(method, epochs=30, verbose=False, random_state=0).fit(train_x, train_y)
        model.save(f"{method}.safetensors")
        neurons, size = round(sum(model.n_active_)), Path(f"{method}.safetensors").stat().st_size / 1e3
        accuracy = model.score(test_x, test_y)
        print(f"{name}: {neurons} neurons, {model.n_parameters()} numbers, {size:.0f} kB, accuracy {accuracy:.3f}")
    compare_with_onnx(model, test_x)


def compare_with_onnx(model: ContinualClassifier, x: np.ndarray) -> None:
    """The same answers from the runtime that needs neither torch nor hibnn."""
    try:
        import onnxruntime
    except ImportError:
        print("exporting needs the extra onnx: pip install 'hibnn[onnx]'.")
        return
    model.export_onnx("model.onnx")
    session = onnxruntime.InferenceSession("model.onnx")
    probabilities, *_ = session.run(None, {"x": x.astype(np.float32)})
    print(f"model.onnx answers alike: largest difference {np.abs(probabilities - model.predict_proba(x)).max():.0e}")


if __name__ == "__main__":
    main()
