"""Nouns and adjectives of the toy language pair: half of its dictionary.

An entry of a noun looks as in a dictionary: singular and plural. In German the
singular has its article, and a third form follows where the accusative and
dative singular differ from it.
"""

import dataclasses

_GENDERS = {"der": "masculine", "die": "feminine", "das": "neuter"}


@dataclasses.dataclass(frozen=True, eq=False)
class Noun:
    """A noun; `kind` determines which adjectives suit it."""

    kind: str
    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str
    oblique: str  # German accusative and dative singular


@dataclasses.dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective; `kinds` determines which nouns it suits."""

    english: str
    german: str
    kinds: str
    stem: str = ""  # the part before endings, if it differs from `german`


def read_table(table):
    """Yields `(heading, rows)`; a row is two lists, English and German."""
    for section in table.strip().split("\n\n"):
        heading, *lines = section.splitlines()
        rows = [line.split("=") for line in lines]
        yield heading, [[split_fields(side) for side in row] for row in rows]


def split_fields(text):
    """Splits a text at its commas."""
    return [field.strip() for field in text.split(",")]


def union(groups, names):
    """Returns the nouns of several groups, whose names spaces separate."""
    return sum((groups[name] for name in names.split()), ())


def _read_nouns(table, unions):
    """Returns the groups of nouns, a dictionary of name to tuple."""
    groups = {}
    for heading, rows in read_table(table):
        name, kind = heading.split(": ")
        groups[name] = tuple(_noun(kind, *row) for row in rows)
    for name, parts in unions.items():
        groups[name] = union(groups, parts)
    return groups


def _noun(kind, english, german):
    article, _, singular = german[0].partition(" ")
    oblique = german[2] if len(german) > 2 else singular
    gender = _GENDERS[article]
    return Noun(kind, *english, singular, german[1], gender, oblique)


# The heading of a group is its name and the kind of its nouns.
NOUNS = _read_nouns(
    """
strangers: adult
man, men = der Mann, Männer
woman, women = die Frau, Frauen
queen, queens = die Königin, Königinnen

acquaintances: adult
teacher, teachers = der Lehrer, Lehrer
doctor, doctors = der Arzt, Ärzte
neighbour, neighbours = der Nachbar, Nachbarn, Nachbarn
farmer, farmers = der Bauer, Bauern, Bauern
student, students = der Student, Studenten, Studenten
friend, friends = der Freund, Freunde
guest, guests = der Gast, Gäste
uncle, uncles = der Onkel, Onkel
aunt, aunts = die Tante, Tanten
brother, brothers = der Bruder, Brüder
sister, sisters = die Schwester, Schwestern
grandfather, grandfathers = der Großvater, Großväter
grandmother, grandmothers = die Großmutter, Großmütter

children: child
child, children = das Kind, Kinder
boy, boys = der Junge, Jungen, Jungen
girl, girls = das Mädchen, Mädchen

animals: animal
dog, dogs = der Hund, Hunde
cat, cats = die Katze, Katzen
horse, horses = das Pferd, Pferde
bird, birds = der Vogel, Vögel
cow, cows = die Kuh, Kühe
mouse, mice = die Maus, Mäuse

food: food
apple, apples = der Apfel, Äpfel
pear, pears = die Birne, Birnen
egg, eggs = das Ei, Eier
cake, cakes = der Kuchen, Kuchen
sausage, sausages = die Wurst, Würste

clothes: thing
coat, coats = der Mantel, Mäntel
jacket, jackets = die Jacke, Jacken
shirt, shirts = das Hemd, Hemden
dress, dresses = das Kleid, Kleider
hat, hats = der Hut, Hüte

dishes: thing
plate, plates = der Teller, Teller
cup, cups = die Tasse, Tassen
glass, glasses = das Glas, Gläser

texts: text
letter, letters = der Brief, Briefe
story, stories = die Geschichte, Geschichten
book, books = das Buch, Bücher

luggage: thing
suitcase, suitcases = der Koffer, Koffer
bag, bags = die Tasche, Taschen

gifts: thing
key, keys = der Schlüssel, Schlüssel
flower, flowers = die Blume, Blumen
picture, pictures = das Bild, Bilder
clock, clocks = die Uhr, Uhren

machines: thing
computer, computers = der Computer, Computer
lamp, lamps = die Lampe, Lampen
radio, radios = das Radio, Radios

vehicles: thing
car, cars = das Auto, Autos
bicycle, bicycles = das Fahrrad, Fahrräder

openings: thing
door, doors = die Tür, Türen
window, windows = das Fenster, Fenster

rooms: place
kitchen, kitchens = die Küche, Küchen
room, rooms = das Zimmer, Zimmer
cellar, cellars = der Keller, Keller

homes: place
house, houses = das Haus, Häuser
castle, castles = das Schloss, Schlösser
village, villages = das Dorf, Dörfer
city, cities = die Stadt, Städte

outdoors: place
park, parks = der Park, Parks
garden, gardens = der Garten, Gärten
""",
    unions={
        "people": "strangers acquaintances children",
        "beings": "people animals",
        "objects": "food clothes dishes texts luggage gifts",
        "goods": "clothes dishes luggage gifts machines vehicles",
        "places": "rooms homes outdoors",
    },
)

ADJECTIVES = (
    Adjective("tired", "müde", "adult child animal", stem="müd"),
    Adjective("hungry", "hungrig", "adult child animal"),
    Adjective("sad", "traurig", "adult child"),
    Adjective("happy", "glücklich", "adult child"),
    Adjective("old", "alt", "adult animal text thing place"),
    Adjective("young", "jung", "adult animal"),
    Adjective("clever", "klug", "adult child animal"),
    Adjective("friendly", "freundlich", "adult child"),
    Adjective("rich", "reich", "adult"),
    Adjective("poor", "arm", "adult"),
    Adjective("small", "klein", "child animal food thing place"),
    Adjective("big", "groß", "animal food thing place"),
    Adjective("new", "neu", "text thing"),
    Adjective("beautiful", "schön", "text thing place"),
    Adjective("good", "gut", "food text"),
    Adjective("fresh", "frisch", "food"),
    Adjective("expensive", "teuer", "food thing", stem="teur"),
    Adjective("red", "rot", "thing"),
    Adjective("green", "grün", "thing"),
    Adjective("black", "schwarz", "thing"),
    Adjective("white", "weiß", "thing"),
)
MOODS = ADJECTIVES[:4]
