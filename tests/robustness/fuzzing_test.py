import random

import pytest
from fuzz_targets import SEEDS
from fuzz_targets import TARGETS
from fuzz_targets import TOKENS
from fuzz_targets import check

NUM_MUTANTS = 150


def mutant(content, generator):
    """Returns content with one to four random changes."""
    content = bytearray(content)
    for _ in range(generator.randint(1, 4)):
        start = generator.randrange(len(content) + 1)
        end = start + generator.choice([0, 0, 1, 2, 8, 200])
        kind = generator.randrange(4)
        if kind == 0:
            content[start:end] = generator.choice(TOKENS)
        elif kind == 1:
            content[start:end] = generator.randbytes(generator.randint(0, 4))
        elif kind == 2:
            content[start:start] = content[end : end + 50]
        elif generator.random() < 0.3:
            del content[start:]
        else:
            del content[start:end]
    return bytes(content)


@pytest.mark.parametrize("name", TARGETS)
class FuzzingTest:
    def test_seeds_are_read(self, name):
        target = TARGETS[name]
        accepted = [check(target, seed) for seed in SEEDS[target]]
        assert accepted and any(accepted)

    def test_mutants_are_read_or_refused(self, name):
        target = TARGETS[name]
        generator = random.Random(0)
        accepted = 0
        for _ in range(NUM_MUTANTS):
            content = mutant(generator.choice(SEEDS[target]), generator)
            accepted += check(target, content)
        assert accepted < NUM_MUTANTS  # the mutants are truly damaged


class CheckTest:
    def test_an_error_of_a_library_is_a_fault(self):
        with pytest.raises(ValueError, match="invalid literal"):
            check(lambda content: int(content), b"x")

    def test_other_exceptions_are_faults(self):
        with pytest.raises(KeyError):
            check(lambda content: {}[content], b"x")
