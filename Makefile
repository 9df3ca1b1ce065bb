# Everything runs in .venv in this folder, made by the first target that needs it. What constraints.txt
# names has packages for Python 3.11 to 3.14, but wordllama, the offline embedder, none for 3.14. So
# an older one is taken where there is one.
PYTHON ?= $(shell for each in python3 python3.13 python3.12 python3.11; do \
    $$each -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && \
    echo $$each && exit; done; echo python3)
BIN := .venv/bin
READY := .venv/ready
INSTALL := install --quiet --disable-pip-version-check --no-compile
PIP := $(BIN)/python -m pip $(INSTALL)
UV_INSTALL := pip install --quiet --python $(BIN)/python -e '.[dev]' -c constraints.txt

PG_CONFIG ?= pg_config

.PHONY: demo test lint bench dist install clean

demo: $(READY)
	@$(BIN)/memoir --data "$${MEMOIR_DATA:-.memoir}" demo

# Three runs at once, each with folders of its own: 18 in two parts, and 16, without what is the same
# with each version. One speaks, the others when it is done. 16 is the shortest and gives way. In a
# new clone it begins when the two have compiled the tests, each its part: that takes a core 7 s.
# The tests keep bytecode, whatever the shell says: collecting takes 3.5 s instead of 9.
OUTSIDE := tests/client tests/install tests/trust tests/house_rules tests/bench
INSIDE := tests $(OUTSIDE:%=--ignore=%)

test: $(READY)
	@export PYTHONDONTWRITEBYTECODE=; \
	folder=$$(mktemp -d); failed=0; delay=0; nice=0; runs=; pytest="$(BIN)/python -m pytest"; \
	trap 'kill $$runs; rm -rf $$folder' INT TERM; \
	run() { \
	    name=$$1; shift; \
	    (sleep $$delay; exec nice -n $$nice $$pytest --basetemp=$$folder/$$name "$$@") \
	        >$$folder/$$name.log 2>&1 & \
	    runs="$$runs $$!"; \
	}; \
	run 18-outside --pg 18 $(OUTSIDE); \
	test -d tests/__pycache__ || delay=8; \
	nice=2; \
	run 16 --pg 16 -m 'not once'; \
	$$pytest --basetemp=$$folder/18 --pg 18 $(INSIDE) || failed=1; \
	for each in $$runs; do wait $$each || failed=1; done; \
	cat $$folder/*.log; rm -rf $$folder; \
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

# With uv that takes half as long as with pip, and an old pip takes twice as long. So the pip that
# is there gets uv. Where uv finds no packages, because only pip knows their index, pip does it all.
# A module is compiled when it is imported, and most of them never are.
$(READY): pyproject.toml constraints.txt
	@rm -rf .venv
	@if command -v uv >/dev/null; then \
	    echo "Making .venv with uv (once, under a minute)"; \
	    { uv venv --quiet --python '>=3.11,<3.14' .venv 2>/dev/null || \
	        uv venv --quiet --python '>=3.11,<3.15' .venv; } && \
	    uv $(UV_INSTALL); \
	else \
	    python='$(PYTHON)'; \
	    $$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' || { \
	        echo "Making .venv needs Python 3.11 to 3.14; $$python is not. Try: make PYTHON=python3.13 demo"; \
	        exit 1; }; \
	    echo "Making .venv with pip (once, under a minute)"; \
	    $$python -m venv --without-pip .venv && { \
	        $$python -m pip --python $(BIN)/python $(INSTALL) uv -c constraints.txt || { \
	            $$python -m venv .venv && $(PIP) uv -c constraints.txt; \
	        }; \
	        $(BIN)/uv $(UV_INSTALL); \
	    } 2>/dev/null || { \
	        $$python -m venv .venv && { \
	            $(PIP) --upgrade pip; \
	            $(PIP) -e '.[dev]' -c constraints.txt; \
	        }; \
	    }; \
	fi
	@touch $(READY)
