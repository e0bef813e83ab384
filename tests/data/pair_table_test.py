import numpy as np

from keras_transformer.data.vocabulary.bpe_dropout import PairTable


class PairTableTest:
    def test_it_agrees_with_a_dictionary(self):
        generator = np.random.default_rng(0)
        codes = generator.permutation(90_000)[:30_000]
        lefts, rights = codes // 300, codes % 300
        numbers = generator.integers(0, 1000, len(codes))
        table = PairTable(lefts, rights, numbers, default=-1)
        dictionary = dict(zip(zip(lefts.tolist(), rights.tolist()), numbers))
        everything = np.indices((301, 301))
        found = table.find(*everything)
        assert found.shape == (301, 301)
        for (left, right), number in np.ndenumerate(found):
            assert number == dictionary.get((left, right), -1)

    def test_order_within_a_pair_matters(self):
        table = PairTable(np.array([3]), np.array([4]), np.array([9]), 0)
        assert table.find(np.array([3, 4]), np.array([4, 3])).tolist() == [9, 0]

    def test_empty_table_knows_no_pair(self):
        none = np.zeros(0, int)
        table = PairTable(none, none, none, default=7)
        assert table.find(np.array([0, 2]), np.array([0, 1])).tolist() == [7, 7]
