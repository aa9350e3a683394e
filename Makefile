# Each target builds .venv when it is missing or when the dependencies changed; otherwise set-up costs nothing.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# compiled modules are kept: tests start many processes, each of which would compile the package anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo picture test slow lint docs check bench reproduce clean

demo: $(READY)
	$(BIN)/hibnn demo

picture: $(READY)
	$(BIN)/hibnn demo --out build/picture --picture docs/images/demo.png

test: $(READY)
	$(BIN)/pytest -n 2 --dist worksteal

slow: $(READY)
	$(BIN)/pytest -m slow

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --level error

docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site

check: test lint docs

bench: $(READY)
	$(BIN)/python benchmarks/speed.py

reproduce: $(READY)
	$(BIN)/hibnn reproduce

clean:
	rm -rf .venv build dist

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("hibnn needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $(READY)
