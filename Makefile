# Everything runs in .venv in this folder, made by the first target that needs it.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

PG_CONFIG ?= pg_config

.PHONY: demo test lint bench dist install clean

demo: $(READY)
	@$(BIN)/memoir demo

# Four runs at once, each with folders of its own: the newest version in two parts, the older one,
# and what is the same with each, once. The first speaks, the others when it is done; who has less
# to do yields to who has more, so that all end together and no core is idle before. In a new clone
# two begin when the others have compiled the tests, each its part: that takes a core 7 s.
# Bytecode is kept, whatever the shell says, and that of packages is where pip has put it:
# collecting the tests takes 3.5 s instead of 9, and a process of the command line 0.3, not 0.4.
OUTSIDE := tests/client tests/install tests/story tests/trust

test: $(READY)
	@export PYTHONDONTWRITEBYTECODE=; \
	folder=$$(mktemp -d); failed=0; pytest="$(BIN)/python -m pytest --basetemp=$$folder"; \
	test -d tests/__pycache__ && compiled=0 || compiled=8; \
	(sleep $$compiled; exec $$pytest/16 --pg 16 -m 'not once') >$$folder/16.log 2>&1 & older=$$!; \
	nice -n 2 $$pytest/outside --pg 18 -m 'not once' $(OUTSIDE) >$$folder/outside.log 2>&1 & \
	outside=$$!; \
	(sleep $$compiled; exec nice -n 3 $$pytest/once -m once) >$$folder/once.log 2>&1 & once=$$!; \
	trap 'kill $$older $$outside $$once; rm -rf $$folder' INT TERM; \
	nice -n 1 $$pytest/18 --pg 18 -m 'not once' $(OUTSIDE:%=--ignore=%) || failed=1; \
	wait $$once || failed=1; \
	wait $$outside || failed=1; \
	wait $$older || failed=1; \
	cat $$folder/once.log $$folder/outside.log $$folder/16.log; rm -rf $$folder; \
	exit $$failed

lint: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/house_rules

bench: $(READY)
	@$(BIN)/python scripts/bench/all.py

dist: $(READY)
	@$(BIN)/python scripts/build_extension.py

# The files of the extension, into the server of pg_config: make install PG_CONFIG=/path/to/pg_config
install: dist
	@$(MAKE) -C dist/extension install PG_CONFIG=$(PG_CONFIG)

clean:
	rm -rf .venv dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY): pyproject.toml constraints.txt
	@rm -rf .venv
	@if command -v uv >/dev/null; then \
	    echo "Making .venv with uv (once, under a minute)"; \
	    uv venv --quiet --python '>=3.11' .venv && \
	    VIRTUAL_ENV=.venv uv pip install --quiet -e '.[dev]' -c constraints.txt; \
	else \
	    $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	        echo "pgmemoir needs Python 3.11 or newer; $(PYTHON) is not. Try: make PYTHON=python3.12 demo"; \
	        exit 1; }; \
	    echo "Making .venv with pip (once, about a minute)"; \
	    $(PYTHON) -m venv .venv && \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' -c constraints.txt; \
	fi
	@touch $(READY)
