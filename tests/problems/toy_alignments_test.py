"""The gold alignments of the toy language are those of its grammar."""

from toy_alignments import aligned_pairs
from toy_alignments import alignment_error_rate

PAIRS = {english: rest for english, *rest in aligned_pairs(100)}


def linked_words(english):
    german, links = PAIRS[english]
    return {
        (english.split()[source], german.split()[target])
        for source, target in links
    }


class AlignedPairsTest:
    def test_words_of_a_clause_are_linked_wherever_they_stand(self):
        assert linked_words("We danced with the woman.") == {
            ("We", "Wir"),
            ("with", "mit"),
            ("woman.", "Frau"),
            ("danced", "getanzt."),
        }

    def test_both_parts_of_a_verb_are_linked(self):
        links = linked_words("A doctor is looking after her dog today.")
        assert {("looking", "passt"), ("looking", "auf.")} <= links

    def test_a_relative_clause_is_linked_too(self):
        links = linked_words(
            "The suitcase that a grandmother bought belonged to his doctor."
        )
        assert ("bought", "gekauft") in links
        assert ("belonged", "gehört.") in links

    def test_every_sentence_has_links_of_words_that_it_has(self):
        for english, (german, links) in PAIRS.items():
            assert links
            for source, target in links:
                assert english.split()[source] and german.split()[target]


class AlignmentErrorRateTest:
    GOLD = [{(0, 0), (2, 1)}, {(1, 3)}]

    def test_gold_has_no_error_and_other_links_have_all(self):
        assert alignment_error_rate(self.GOLD, self.GOLD) == 0
        assert alignment_error_rate([{(1, 0)}, {(0, 3)}], self.GOLD) == 1

    def test_words_without_a_gold_link_do_not_count(self):
        predicted = [self.GOLD[0] | {(5, 5)}, self.GOLD[1]]
        assert alignment_error_rate(predicted, self.GOLD) == 0

    def test_missing_and_wrong_links_count_alike(self):
        # Two of three links are right, of three.
        predicted = [{(0, 0), (1, 1)}, {(1, 3)}]
        assert alignment_error_rate(predicted, self.GOLD) == 1 - 4 / 6
