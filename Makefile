# make demo          Train on a toy language, translate, and print BLEU.
# make demo-parsing  Train on a toy treebank, parse, and print F1.
# make demo-model    Train the model that comes with the package, on CORPUS.
# make check         Check the style; run the fast unit tests.
# make test          Check the style; run the unit and integration tests.
# make test-slow     Run the tests that train a model or take minutes.
# make test-jax      Run the maths half and the trainings on JAX.
# make test-oldest   Run tests with the oldest dependencies that are allowed.
# make test-browser  Run the tests of kt-studio and kt-serve in a browser.
# make coverage      Run `make test`, and measure the coverage of branches.
# make mutation      Measure how many faults in the maths half its tests find.
# make benchmark     Measure this checkout, and add a line to the history.
# make speedrun      Time a training from CORPUS to a score; see the script.
# make tables        Rerun published tables on the data in DATA, in a night.
# make fuzz          Feed the readers of files and requests with hostile bytes.
# make docs          Build the site of documents into build/docs/site.
# make tutorials     Run the tutorials and renew their outputs and notebooks.
# make pictures      Train the demo, and make the pictures of README from it.
# make lint          Check the style, the spelling and the types only.
# make dist          Build the wheel and the sdist into dist, reproducibly.
# make release       Check version, changelog and tag, and build. Pushes nothing.
# make licences      List the dependencies' licences and the SBOM in build.
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
	json_bodies tool_bodies vocabularies
SECONDS ?= 600

# Tests start many processes, which would all compile the package again.
unexport PYTHONDONTWRITEBYTECODE

# What trains, searches, exports, serves, differentiates or starts processes takes
# minutes, so `make check` leaves it out.
SLOW_TESTS = integration robustness benchmark decoding formats layers losses \
	parsing search serving studio training visualization \
	frozen_formats_test.py jax_backend_test.py optimizers_test.py \
	paper_in_one_file_test.py serialization_test.py site_test.py data/dataset_test.py \
	data/generation_test.py data/large_corpora_page_test.py \
	problems/parsing_problem_test.py

# They train, decode, export and serve on TensorFlow, and train on JAX.
SMOKE_TESTS = integration/training_test.py integration/decoder_command_test.py \
	integration/exporter_test.py integration/ctranslate2_test.py \
	integration/serve_test.py integration/document_command_test.py \
	integration/jax_training_test.py frozen_formats_test.py formats site_test.py
JAX_TESTS = jax_backend_test.py training/jax_backend_updates_test.py \
	integration/jax_training_test.py

.PHONY: demo demo-parsing demo-model check test test-slow test-jax test-oldest \
	test-browser coverage mutation benchmark speedrun tables fuzz docs \
	tutorials pictures lint dist release licences venv clean

TOY_HPARAMS = batch_tokens=1024,dropout=0.05,warmup_steps=200,decay_steps=1000
demo: .venv/installed
	$(BIN)/kt-trainer --problem=translate_ende_toy --generate_data \
		--data_dir=demo/data --output_dir=demo/run \
		--hparams_set=transformer_tiny_fast --train_steps=1000 --hparams=$(TOY_HPARAMS) \
		--eval_frequency=250
	@echo "Five sentences of the test set, and their translations:"
	@head -n 5 demo/data/translate_ende_toy/test.source.txt
	@head -n 5 demo/data/translate_ende_toy/test.source.txt \
		| $(BIN)/kt-decoder --output_dir=demo/run
	$(BIN)/kt-evaluate --output_dir=demo/run --split=test
	@echo "See demo/run/learning_curve.png for the learning curve and" \
		"demo/run/samples for sample translations."

demo-parsing: .venv/installed
	$(BIN)/kt-trainer --problem=parsing_toy --generate_data \
		--data_dir=demo/data --output_dir=demo/parser \
		--hparams_set=transformer_parsing_small \
		--hparams=decay_steps=1500 --train_steps=1500 --eval_frequency=500
	@echo "Three sentences of the test set, and their trees:"
	@head -n 3 demo/data/parsing_toy/test.source.txt
	@head -n 3 demo/data/parsing_toy/test.source.txt \
		| $(BIN)/kt-decoder --output_dir=demo/parser --tokenized
	$(BIN)/kt-evaluate --output_dir=demo/parser --split=test

DEMO_HPARAMS = num_layers=3,num_decoder_layers=2,dropout=0.1,batch_tokens=4096,
DEMO_HPARAMS := $(DEMO_HPARAMS)source_noise=0.05,peak_learning_rate=0.002,
DEMO_HPARAMS := $(DEMO_HPARAMS)warmup_steps=300,decay_steps=3200
# CORPUS has train.en, train.es, dev.en and so on. It takes half an hour on a core.
demo-model: .venv/installed
	$(BIN)/kt-datagen --problem=translate_files --vocab_size=8000 \
		--data_dir=build/demo_model/data \
		$(foreach split,train dev test,--$(split)_source=$(CORPUS)/$(split).en \
		--$(split)_target=$(CORPUS)/$(split).es)
	$(BIN)/kt-trainer --problem=translate_files --random_seed=1 \
		--data_dir=build/demo_model/data --output_dir=build/demo_model/run \
		--hparams_set=transformer_low_resource --train_steps=3200 \
		--eval_frequency=800 --precision=bfloat16 --hparams=$(DEMO_HPARAMS)
	for split in dev test; do $(BIN)/kt-evaluate --split=$$split \
		--output_dir=build/demo_model/run; done
	$(BIN)/python benchmarks/demo_model.py build/demo_model/run en-es

PYTEST = -m pytest -q -n 2 --dist loadfile -m "not slow"
FAST_TESTS = $(addprefix --ignore=tests/,$(SLOW_TESTS))

check: lint
	$(BIN)/python $(PYTEST) $(FAST_TESTS)

# Each line has processes of its own, since models and compiled functions that
# tests share stay in memory until the end of a process. The last line has the rest.
# With worksteal an idle worker takes tests of a file that the other has begun.
GROUPED = benchmark decoding formats integration layers losses parsing scoring \
	search serving studio training visualization
test: export SHARED_TEST_RUNS = $(CURDIR)/build/test_runs
test: lint
	rm -rf $(SHARED_TEST_RUNS)
	$(BIN)/python $(PYTEST) tests/decoding/[a-c]*_test.py tests/search
	$(BIN)/python $(PYTEST) tests/decoding/[d-p]*_test.py
	$(BIN)/python $(PYTEST) tests/decoding/[q-z]*_test.py
	$(BIN)/python $(PYTEST) --dist worksteal tests/integration/[a-l]*_test.py
	$(BIN)/python $(PYTEST) tests/integration/[m-s]*_test.py
	$(BIN)/python $(PYTEST) tests/integration/t*_test.py
	$(BIN)/python $(PYTEST) tests/training
	$(BIN)/python $(PYTEST) --dist worksteal $(addprefix tests/,layers losses \
		parsing)
	$(BIN)/python $(PYTEST) $(addprefix tests/,benchmark formats scoring serving \
		studio visualization)
	$(BIN)/python $(PYTEST) --dist worksteal $(addprefix --ignore=tests/,$(GROUPED))

coverage: .venv/installed-test
	$(BIN)/python $(PYTEST) --cov --cov-report=term

test-slow: .venv/installed-test
	$(PIP) -e '.[peers]'
	$(BIN)/python -m pytest -q -m slow

test-jax: .venv/installed-test
	$(BIN)/python -m pytest -q $(addprefix tests/,$(JAX_TESTS))

test-oldest: build/oldest/installed
	build/oldest/bin/python $(PYTEST) $(FAST_TESTS)
	build/oldest/bin/python $(PYTEST) $(addprefix tests/,$(SMOKE_TESTS))

test-browser: .venv/installed-test
	$(PIP) -e '.[browser]'
	$(BIN)/python -m pytest -q -m browser

mutation: .venv/installed-test
	$(BIN)/python benchmarks/mutation_score.py 100

benchmark: .venv/installed-test
	$(BIN)/python benchmarks/history.py benchmarks/history.jsonl

speedrun: .venv/installed
	PATH="$(CURDIR)/$(BIN):$$PATH" bash benchmarks/speedrun.sh \
		$(CORPUS) build/speedrun_$(or $(SEED),0) $(SEED)

tables: .venv/installed
	$(BIN)/python benchmarks/tables.py $(DATA) build/tables

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
	$(BIN)/kt-attention --output_dir=demo/run \
		--picture=docs/cross_attention.png \
		--text="Tomorrow the old uncle will pick up his sister."
	$(BIN)/kt-studio --output_dir=demo/run --port=8600 & \
		$(BIN)/python docs/site/studio_picture.py \
		http://localhost:8600 docs/studio.png; kill $$!

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell .
	$(BIN)/mypy

dist: .venv/installed-test
	$(BIN)/python release/distributions.py dist

release: .venv/installed-test
	$(BIN)/python release/checks.py
	$(MAKE) dist
	@echo "Push the tag, and upload these files."

# Those of what `pip install .` brings, which a new environment shows.
licences: .venv/installed-test
	$(PIP) 'cyclonedx-bom>=7' pip-licenses
	$(PYTHON) -m venv --clear build/dependencies
	build/dependencies/bin/python -m pip install --quiet .
	$(BIN)/pip-licenses --python=build/dependencies/bin/python --with-urls \
		--format=csv --output-file=build/licences.csv
	$(BIN)/cyclonedx-py environment --output-file=build/sbom.json \
		build/dependencies/bin/python

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

# EXTRAS=test tests without JAX and the site, as those see it who have neither.
EXTRAS ?= test,docs,jax
.venv/installed-test: setup.cfg pyproject.toml | .venv/bin/python
	$(PIP) -e '.[$(EXTRAS)]'
	touch .venv/installed $@

# pip only finds the newest versions, so uv installs the oldest ones.
build/oldest/installed: setup.cfg pyproject.toml
	$(PYTHON) -m venv build/oldest
	build/oldest/bin/python -m pip install --quiet uv
	VIRTUAL_ENV=build/oldest build/oldest/bin/uv pip install --quiet \
		--resolution lowest-direct -e '.[test,docs,jax]'
	touch $@

clean:
	rm -rf demo build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
