# make demo          Train on a toy language, translate, and print BLEU.
# make demo-parsing  Train on a toy treebank, parse, and print F1.
# make check         Check the style; run the fast unit tests.
# make test          Check the style; run the unit and integration tests.
# make test-slow     Run the tests that train a model or take minutes.
# make test-browser  Run the tests of kt-studio in a browser.
# make fuzz          Feed the readers of files and requests with hostile bytes.
# make docs          Build the site of documents into build/docs/site.
# make tutorials     Run the tutorials and renew their outputs and notebooks.
# make pictures      Train the demo, and make the pictures of README from it.
# make lint          Check the style only.
# make venv          Install the package and its test tools into .venv.
# make clean         Remove the files of demos and builds, but not .venv.

# The first Python on PATH whose version is 3.11, 3.12 or 3.13.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; \
	sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	2>/dev/null && echo $$python && break; done)
BIN = .venv/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check

FUZZED = trees hparams manifests checkpoints runs evaluations timed_steps \
	json_bodies vocabularies
SECONDS ?= 600

# Tests start many processes, which would all compile the package again.
unexport PYTHONDONTWRITEBYTECODE

# What trains, searches, exports, serves, differentiates or starts processes takes
# minutes, so `make check` leaves it out.
SLOW_TESTS = integration robustness benchmark decoding engines export layers \
	losses pretrained search serving studio sweep training transformer \
	visualization frozen_formats_test.py jax_backend_test.py optimizers_test.py \
	paper_in_one_file_test.py serialization_test.py site_test.py data/dataset_test.py \
	data/generation_test.py data/large_corpora_page_test.py \
	problems/parsing_problem_test.py trees/linearization_test.py

.PHONY: demo demo-parsing check test test-slow test-browser fuzz docs \
	tutorials pictures lint venv clean

demo: .venv/installed
	$(BIN)/kt-trainer --problem=translate_ende_toy --generate_data \
		--data_dir=demo/data --output_dir=demo/run \
		--hparams_set=transformer_tiny --hparams=dropout=0.1 \
		--train_steps=1500 --eval_frequency=250
	$(BIN)/kt-avg-checkpoints --output_dir=demo/run --num_last_checkpoints=3
	@echo "Five sentences of the test set, and their translations:"
	@head -n 5 demo/data/translate_ende_toy/test.source.txt
	@head -n 5 demo/data/translate_ende_toy/test.source.txt \
		| $(BIN)/kt-decoder --output_dir=demo/run/averaged
	$(BIN)/kt-evaluate --output_dir=demo/run/averaged --split=test
	@echo "See demo/run/learning_curve.png for the learning curve and" \
		"demo/run/samples for sample translations."

demo-parsing: .venv/installed
	$(BIN)/kt-trainer --problem=parsing_toy --generate_data \
		--data_dir=demo/data --output_dir=demo/parser \
		--hparams_set=transformer_parsing_small \
		--train_steps=1500 --eval_frequency=500
	@echo "Three sentences of the test set, and their trees:"
	@head -n 3 demo/data/parsing_toy/test.source.txt
	@head -n 3 demo/data/parsing_toy/test.source.txt \
		| $(BIN)/kt-decoder --output_dir=demo/parser --tokenized
	$(BIN)/kt-evaluate --output_dir=demo/parser --split=test

check: lint
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" \
		$(addprefix --ignore=tests/,$(SLOW_TESTS))

test: lint
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow"

test-slow: .venv/installed-test
	$(PIP) -e '.[peers]'
	$(BIN)/python -m pytest -q -m slow

test-browser: .venv/installed-test
	$(PIP) -e '.[browser]'
	$(BIN)/python -m pytest -q -m browser

fuzz: .venv/installed-test
	$(PIP) -e '.[fuzz]'
	for reader in $(FUZZED); do \
		$(BIN)/python tests/robustness/fuzz.py $$reader \
			-max_total_time=$(SECONDS) || exit 1; done

docs: .venv/installed-test
	$(BIN)/python docs/site/site_builder.py build/docs
	cd build/docs && ../../$(BIN)/zensical build --strict --clean
	@echo "Open build/docs/site/index.html."

# TUTORIALS=docs/tutorials/parsing.md runs one alone.
TUTORIALS ?= $(filter-out %/README.md,$(wildcard docs/tutorials/*.md))
tutorials: .venv/installed-test
	$(BIN)/python docs/site/tutorials.py $(TUTORIALS)

pictures: demo
	$(PIP) -e '.[browser]'
	cp demo/run/learning_curve.png docs/learning_curve.png
	$(BIN)/kt-attention --output_dir=demo/run/averaged \
		--picture=docs/cross_attention.png \
		--text="Tomorrow the old uncle will pick up his sister."
	$(BIN)/kt-studio --output_dir=demo/run/averaged --port=8600 & \
		$(BIN)/python docs/site/studio_picture.py \
		http://localhost:8600 docs/studio.png; kill $$!

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

venv: .venv/installed-test

.venv/bin/python:
	@test -n "$(PYTHON)" || { \
		echo "Python 3.11, 3.12 or 3.13 must be installed." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip' || { \
		echo "$(PYTHON) needs the module venv. Install python3-venv." >&2; exit 2; }
	$(PYTHON) -m venv .venv

.venv/installed: setup.cfg pyproject.toml | .venv/bin/python
	$(PIP) -e .
	touch $@

.venv/installed-test: setup.cfg pyproject.toml | .venv/bin/python
	$(PIP) -e '.[test,docs,jax]'
	touch .venv/installed $@

clean:
	rm -rf demo build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
