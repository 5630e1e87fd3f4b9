# demo and test work on a fresh machine: they set up .venv themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEMO := demo-out
ASSIGNMENTS := $(patsubst assignments/%/rubric.toml,%,$(wildcard assignments/*/rubric.toml))

.PHONY: demo test check audit bench fuzz attack clean

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

# Grades the bundled submissions of every assignment, shows the classes and one full report.
demo: $(READY)
	for id in $(ASSIGNMENTS); do \
	  $(BIN)/grader grade examples/$$id --assignment $$id --out $(DEMO)/$$id || exit 1; \
	done
	$(BIN)/grader check examples/multi_head_attention/wrong_mask_inverted.py || test $$? -eq 1

test: $(READY)
	$(BIN)/python -m pytest -n auto --dist loadscope

# What a change must pass besides the tests.
check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	for id in $(ASSIGNMENTS); do $(BIN)/grader lint $$id || exit 1; done

# Runs every mutant of the reference through every rubric that it concerns, two rubrics at a time;
# one of each kind is run by the tests, as are the right submissions.
audit: $(READY)
	printf '%s\n' $(ASSIGNMENTS) | xargs -P 2 -I ID $(BIN)/grader audit ID --no-right

# Measures speed, as ratios in one run: of one submission and a few, of classes, and beside other
# graders, which are installed into a temporary folder. Takes the better part of an hour.
bench: $(READY)
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/sites.py
	$(BIN)/python benchmarks/classes.py
	$(BIN)/python benchmarks/peers.py

# Tries every attack of tests/hostile in namespaces and without them.
attack: $(READY)
	for level in namespaces limits; do \
	  PYTHONPATH=. $(BIN)/python tests/hostile/arena.py $$level tests/hostile/attacks || exit 1; \
	done

# Fuzzes what reads a worker's frames and what writes reports, a minute each.
fuzz: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "atheris>=2.3"
	for which in frames answers writers; do \
	  $(BIN)/python tests/fuzz/explore.py $$which -max_total_time=60 -print_final_stats=1 || exit 1; \
	done

clean:
	rm -rf $(VENV) $(DEMO) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
