"""Words of the toy treebank, as rules of its grammar.

The nouns and adjectives are those of the toy language pair and some more. The
grammar chooses words by their groups: a verb takes nouns of certain groups, and
"with a fork" goes with eating, "with cream" with a cake.
"""

from keras_transformer.problems.toy_language.lexicon import ADJECTIVES
from keras_transformer.problems.toy_language.lexicon import NOUNS

VERB_TAGS = ("VB", "VBZ", "VBD", "VBN", "VBG", "VBP")

_MORE_NOUNS = """
relatives: father fathers, mother mothers, son sons, daughter daughters
jobs: teacher teachers, doctor doctors, baker bakers, singer singers
drinks: tea teas, coffee coffees, milk milks, wine wines
toppings: cream creams, honey honeys, salt salts, butter butters
cutlery: fork forks, knife knives, spoon spoons
tools: hammer hammers, wrench wrenches, screwdriver screwdrivers
glasses: telescope telescopes, camera cameras, mirror mirrors
looks: beard beards, scar scars, smile smiles, moustache moustaches
tails: tail tails, ear ears, nose noses, paw paws
parts: roof roofs, balcony balconies, chimney chimneys, wall walls
furniture: table tables, chair chairs, bench benches, bed beds, sofa sofas
nature: river rivers, lake lakes, forest forests, hill hills, bridge bridges
events: party parties, concert concerts, wedding weddings, meeting meetings
"""
_MORE_ADJECTIVES = """
relatives: old, young, happy, friendly
jobs: old, young, clever, friendly
drinks: hot, cold, fresh, good
toppings: fresh, good
cutlery: big, small, new
tools: old, heavy, new
glasses: old, new, small, expensive
looks: long, big, small, strange
tails: long, short, white, black
parts: red, old, high, white
furniture: old, big, small, white
nature: wide, old, small, beautiful
"""
# Infinitive, present, past, participle and gerund; "-" is the infinitive. No
# past looks like its infinitive: "they put" would be of two tags.
_VERBS = """
openings: open -s -ed -ed -ing, close -s -d -d closing
clothes: wash -es -ed -ed -ing, clean -s -ed -ed -ing
dishes: wash -es -ed -ed -ing, clean -s -ed -ed -ing
food: eat -s ate eaten -ing, cook -s -ed -ed -ing
drinks: drink -s drank drunk -ing, order -s -ed -ed -ing
texts: write -s wrote written writing, finish -es -ed -ed -ing
machines: repair -s -ed -ed -ing, sell -s sold sold -ing
gifts: buy -s bought bought -ing, paint -s -ed -ed -ing
buy: buy -s bought bought -ing, borrow -s -ed -ed -ing
meet: meet -s met met -ing, see -s saw seen -ing, find -s found found -ing
meet: follow -s -ed -ed -ing, visit -s -ed -ed -ing
watch: watch -es -ed -ed -ing, photograph -s -ed -ed -ing
like: like -s -d -d liking, love -s -d -d loving, know -s knew known -ing
like: remember -s -ed -ed -ing, admire -s -d -d admiring
own: need -s -ed -ed -ing, want -s -ed -ed -ing, own -s -ed -ed -ing
give: give -s gave given giving, show -s -ed shown -ing
give: send -s sent sent -ing, offer -s -ed -ed -ing
hide: place -s -d -d placing, hide -s hid hidden hiding
hide: leave -s left left leaving, forget -s forgot forgotten forgetting
go: go -es went gone -ing, run -s ran run running, walk -s -ed -ed -ing
go: drive -s drove driven driving
rest: sleep -s slept slept -ing, work -s -ed -ed -ing, sing -s sang sung -ing
rest: laugh -s -ed -ed -ing, dance -s -d -d dancing, play -s -ed -ed -ing
stand: stand -s stood stood -ing, sit -s sat sat sitting
jump: jump -s -ed -ed -ing, run -s ran run running, sleep -s slept slept -ing
follow: follow -s -ed -ed -ing, see -s saw seen -ing, find -s found found -ing
wait: wait -s -ed -ed -ing, look -s -ed -ed -ing
talk: talk -s -ed -ed -ing, dream -s -ed -ed -ing, think -s thought thought -ing
speak: speak -s spoke spoken -ing, argue -s -d -d arguing
pick: pick -s -ed -ed -ing, wrap -s -ped -ped -ping
turn: turn -s -ed -ed -ing, switch -es -ed -ed -ing
say: say -s said said -ing, believe -s -d -d believing
say: hope -s -d -d hoping, think -s thought thought -ing
wonder: wonder -s -ed -ed -ing, ask -s -ed -ed -ing
try: try tries tried tried -ing, promise -s -d -d promising
try: decide -s -d -d deciding, want -s -ed -ed -ing, hope -s -d -d hoping
tell: tell -s told told -ing, ask -s -ed -ed -ing, remind -s -ed -ed -ing
expect: want -s -ed -ed -ing, expect -s -ed -ed -ing, allow -s -ed -ed -ing
enjoy: enjoy -s -ed -ed -ing, avoid -s -ed -ed -ing, stop -s -ped -ped -ping
fall: fall -s fell fallen -ing, rise -s rose risen rising
"""


def lexical_rules():
    """Returns the words of each symbol: {symbol: [(tag, word), ...]}."""
    rules = {}
    for group, nouns in _noun_forms():
        for number, tag, place in (("sg", "NN", 0), ("pl", "NNS", 1)):
            words = [(tag, noun[place]) for noun in nouns]
            rules[f"noun {group} {number}"] = words
    for group, adjectives in _adjectives_of_groups():
        rules[f"adjective {group}"] = [("JJ", word) for word in adjectives]
    for group, verbs in _rows(_VERBS):
        for text in verbs:
            base, *others = text.split()
            words = [base, *(word.replace("-", base) for word in others), base]
            for tag, word in zip(VERB_TAGS, words):
                symbol = f"verb {group} {tag}"
                rules.setdefault(symbol, []).append((tag, word))
    return rules


def _rows(table):
    for line in table.strip().splitlines():
        group, _, entries = line.partition(": ")
        yield group, entries.split(", ")


def _noun_forms():
    for group, nouns in NOUNS.items():
        yield group, [(noun.english, noun.english_plural) for noun in nouns]
    for group, entries in _rows(_MORE_NOUNS):
        yield group, [entry.split() for entry in entries]


def _adjectives_of_groups():
    for group, nouns in NOUNS.items():
        kinds = {noun.kind for noun in nouns}
        suited = [a for a in ADJECTIVES if kinds <= set(a.kinds.split())]
        yield group, [adjective.english for adjective in suited]
    yield from _rows(_MORE_ADJECTIVES)
